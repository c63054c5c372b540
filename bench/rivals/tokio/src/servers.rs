// SPDX-License-Identifier: BSD-2-Clause
// A task for each connection.
use std::future::Future;
use std::io::Result;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, sleep_until, Instant};

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!";
const MOST_PIPELINED: usize = 64;

pub async fn serve<F, C>(port: u16, client: C)
where
    F: Future<Output = Result<()>> + 'static + Send,
    C: Fn(TcpStream) -> F,
{
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(([127, 0, 0, 1], port).into()).unwrap();
    let listener = socket.listen(4096).unwrap();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                tokio::spawn(client(stream));
            }
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

pub async fn quotes(mut stream: TcpStream) -> Result<()> {
    let mut price = stream.read_u32_le().await?;
    let mut due = Instant::now();
    let mut number = 0u32;
    loop {
        let mut quote = [0u8; 16];
        quote[8..12].copy_from_slice(&number.to_le_bytes());
        quote[12..].copy_from_slice(&price.to_le_bytes());
        stream.write_all(&quote).await?;
        number = number.wrapping_add(1);
        price = price.wrapping_add(number % 3).wrapping_sub(1);
        due += Duration::from_secs(1);
        sleep_until(due).await;
    }
}

// How many requests without a body end in these bytes? seen: how much of the blank line that ends one came before.
fn requests_in(bytes: &[u8], seen: &mut u8) -> usize {
    let (mut found, mut s) = (0, *seen);
    for &b in bytes {
        s = match (b, s) {
            (b'\r', 2) => 3,
            (b'\r', _) => 1,
            (b'\n', 1) => 2,
            (b'\n', 3) => {
                found += 1;
                0
            }
            _ => 0,
        };
    }
    *seen = s;
    found
}

pub async fn hello(mut stream: TcpStream) -> Result<()> {
    let mut buffer = [0u8; 1024];
    let mut seen = 0;
    loop {
        let n = stream.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        match requests_in(&buffer[..n], &mut seen) {
            0 => {}
            1 => stream.write_all(HELLO).await?,
            many if many <= MOST_PIPELINED => stream.write_all(&HELLO.repeat(many)).await?,
            _ => return Ok(()),
        }
    }
}

pub async fn echo(mut stream: TcpStream) -> Result<()> {
    let mut buffer = [0u8; 1024];
    loop {
        let n = stream.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..n]).await?;
    }
}
