# SPDX-License-Identifier: BSD-2-Clause
"""The servers that are compared, and one of them running: started, asked for its memory, ended."""
import os
import select
import shutil
import socket
import subprocess
import sys
import time

from common import how_it_ended

NGINX = '''daemon off;
master_process off;
worker_processes 1;
pid {dir}/pid;
error_log stderr crit;
worker_rlimit_nofile 100000;
events {{ worker_connections 20000; multi_accept on; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 3600s;
    client_body_temp_path {dir}/body;
    proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi;
    scgi_temp_path {dir}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{ default_type text/plain; return 200 "Hello, world!"; }}
    }}
}}
'''


BARE = 'bare sends'  # no less can be had: send(2) of the same bytes at the same times


class Server:
    """A program and how it is called; kinds: of quotes, http, echo. skip: why it cannot run here."""

    def __init__(self, name, kinds, command, skip=None, managed=False, most=None, period=False):
        self.name, self.kinds, self.command, self.skip = name, kinds, command, skip
        self.managed = managed
        self.period = period  # it can send quotes in another period than a second
        self.most = most  # clients that the system lets it have


def most_threads():
    """A thread takes two maps, its stack and the guard before it."""
    def value(path):
        with open('/proc/sys/' + path, encoding='ascii') as f:
            return int(f.read())
    return min(value('kernel/threads-max') // 2, value('kernel/pid_max') - 1000, value('vm/max_map_count') // 2 - 500)


def nginx_command(bench, nginx, port):
    directory = os.path.join(bench.out, 'nginx')
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, 'nginx.conf')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(NGINX.format(dir=directory, port=port))
    return [nginx, '-e', 'stderr', '-p', directory, '-c', path]


def python_with(module):
    """A Python that has a module: the one that runs this, or the system's."""
    for python in dict.fromkeys([sys.executable, '/usr/bin/python3']):
        if python and os.path.exists(python) and subprocess.run([python, '-c', f'import {module}'], check=False,
                                                                capture_output=True).returncode == 0:
            return python
    return None


def all_servers(bench):
    rivals = os.path.join(bench.source, 'bench', 'rivals')
    three, quotes = ('quotes', 'http', 'echo'), ('quotes',)

    def fin(kind, port, *options):
        program, echo = ('quotes', []) if kind == 'quotes' else ('hello', ['--echo'] if kind == 'echo' else [])
        return [bench.program('examples/' + program), '--serve', str(port), *echo, *options]

    def built(name, path, kinds, why, word=None, **more):
        program = bench.program(path)
        skip = None if os.access(program, os.X_OK) else why
        return Server(name, kinds, lambda kind, port: [program, word or kind, str(port)], skip, **more)

    def script(name, interpreter, path, why, *options):
        return Server(name, quotes, lambda kind, port: [interpreter, os.path.join(rivals, path), str(port), *options],
                      None if interpreter else why, managed=True)

    nginx = next((p for p in (shutil.which('nginx'), '/usr/sbin/nginx', bench.program('bench/rivals/nginx'))
                  if p and os.access(p, os.X_OK)), None)
    not_built = 'not built (bench/rivals/build)'
    return [
        Server('Fin', three, lambda kind, port: fin(kind, port, '--stacks'), period=True),
        Server('Fin without stacks', three, fin, period=True),
        built('io_uring callbacks', 'bench/io/rival-uring', three, 'not built', period=True),
        built(BARE, 'bench/io/rival-epoll', quotes, 'not built', word='sends', period=True),
        built('epoll callbacks', 'bench/io/rival-epoll', quotes, 'not built', period=True),
        built('libuv', 'bench/io/rival-libuv', three, 'not built: libuv1-dev is not installed', period=True),
        built('thread per client', 'bench/io/rival-threads', quotes, 'not built', most=most_threads(), period=True),
        built('Go', 'bench/rivals/go', three, not_built, managed=True),
        Server('Go net/http', ('http',), lambda kind, port: [bench.program('bench/rivals/go'), 'nethttp', str(port)],
               None if os.access(bench.program('bench/rivals/go'), os.X_OK) else not_built, managed=True),
        built('Tokio', 'bench/rivals/tokio', three, not_built, managed=True),
        script('Node', shutil.which('node') or shutil.which('nodejs'), 'node/quotes.js', 'nodejs is not installed'),
        script('asyncio', sys.executable, 'python/quotes.py', ''),
        script('asyncio on uvloop', python_with('uvloop'), 'python/quotes.py', 'python3-uvloop is not installed',
               '--uvloop'),
        Server('nginx', ('http',), lambda kind, port: nginx_command(bench, nginx, port),
               None if nginx else 'not installed'),
    ]


def servers_for(bench, kind):
    """Those that run here; names the others."""
    found = []
    for s in all_servers(bench):
        if kind == 'quotes' and bench.options.every != 1 and not s.period:
            continue
        if kind not in s.kinds or (bench.options.only and s.name not in bench.options.only.split(',')):
            continue
        if s.skip:
            print(f'  {s.name}: skipped: {s.skip}')
        else:
            found.append(s)
    return found


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Running:
    """A server that listens."""

    def __init__(self, bench, server, kind):
        self.port, self.name = free_port(), server.name
        self.log = open(os.path.join(bench.out, 'server.log'), 'w+', encoding='utf-8', errors='replace')
        try:
            self.process = subprocess.Popen(bench.measured(server.command(kind, self.port)), stdin=subprocess.DEVNULL,
                                            stdout=self.log, stderr=self.log)
        except BaseException:
            self.log.close()
            raise
        self.pid = self.process.pid  # setpriv and taskset become it
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(('127.0.0.1', self.port), 1).close()
                return
            except OSError:
                status = self.process.poll()
                if status is not None or time.monotonic() > end:
                    self.stop()
                    how = 'does not listen' if status is None else how_it_ended(status)
                    raise RuntimeError(f'{server.name}: {how}: {self.complaint()}') from None
                time.sleep(0.02)

    def complaint(self):
        with open(self.log.name, encoding='utf-8', errors='replace') as f:
            lines = f.read().strip().splitlines()
        return lines[-1] if lines else 'it says nothing'

    def check(self):
        """It runs: what is known of a process that has ended is 0."""
        status = self.process.poll()
        if status is not None:
            raise RuntimeError(f'{self.name}: {how_it_ended(status)}: {self.complaint()}')

    def memory(self):
        """Bytes: resident, with page tables."""
        self.check()
        kib = 0
        with open(f'/proc/{self.pid}/status', encoding='ascii') as f:
            for line in f:
                if line.startswith(('VmRSS:', 'VmPTE:')):
                    kib += int(line.split()[1])
        return kib * 1024

    def cpu(self):
        """Seconds of CPU time, of all threads: the kernel's clock id for another process."""
        self.check()
        return time.clock_gettime((~self.pid << 3) | 2)

    def modes(self):
        """Ticks of CPU time of all threads, in the program and in the kernel, as the kernel's samples divide it."""
        with open(f'/proc/{self.pid}/stat', encoding='utf-8', errors='replace') as f:
            fields = f.read().rpartition(')')[2].split()
        return int(fields[11]), int(fields[12])

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()


class Load:
    """The load generator, connected to a running server."""

    def __init__(self, bench, running, kind):
        self.process = subprocess.Popen(bench.measuring([bench.program('bench/io/fin-load'), kind, str(running.port),
                                                         str(running.pid)]),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.rest = b''

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b'\n')
            self.process.stdin.flush()
        except BrokenPipeError:
            raise RuntimeError('the load generator ended: ' + self.process.stderr.read().decode().strip()) from None

    def answer(self, timeout):
        """To the first command that has none yet, as a dictionary; TimeoutError."""
        end = time.monotonic() + timeout
        while b'\n' not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError
            data = os.read(self.process.stdout.fileno(), 4096)
            if not data:
                raise RuntimeError('the load generator ended: ' + self.process.stderr.read().decode().strip())
            self.rest += data
        answer, self.rest = self.rest.split(b'\n', 1)
        words = answer.decode().split()
        return {k: float(v) for k, v in zip(words[::2], words[1::2])}

    def grow(self, clients, timeout):
        self.send(f'grow {clients}')
        return self.answer(timeout)

    @staticmethod
    def why_lost(answers):
        """Of the answers to grow: what the first one of a lost client was lost by."""
        error = next((int(a['errno']) for a in answers if a['lost']), 0)
        return os.strerror(error) if error else 'the server ended the connection'

    def measure(self, seconds):
        self.send(f'measure {int(seconds * 1000)}')
        return self.answer(seconds + 60)

    def stop(self):
        self.process.kill()
        self.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()
