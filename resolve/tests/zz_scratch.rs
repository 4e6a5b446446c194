use std::time::Duration;
use dynamic_resolve::*;
#[tokio::test]
async fn x() {
    let dns = testdns::Server::start(&["127.0.0.1:0".parse().unwrap()]).unwrap();
    dns.command("down closed").unwrap();
    let a = dns.addr();
    let u = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    u.connect(a).await.unwrap();
    u.send(b"x").await.unwrap();
    let mut b=[0;10];
    println!("direct {:?}", tokio::time::timeout(Duration::from_secs(1), u.recv(&mut b)).await);
    let u = tokio::net::UdpSocket::bind("0.0.0.0:0").await.unwrap();
    u.connect(a).await.unwrap();
    u.send(b"x").await.unwrap();
    println!("direct wildcard {:?} {:?}", u.local_addr(), tokio::time::timeout(Duration::from_secs(1), u.recv_from(&mut b)).await);
    for addr in [a.to_string(), "127.0.0.1:39998".to_string()] {
    let s = Settings { from_os: false, nameservers: vec![dynamic_core::resolv::NameServer::parse(&addr).unwrap()], timeout: Some(Duration::from_secs(1)), ..Settings::default() };
    println!("{:?}", Resolver::new(s, SystemFiles::new("/x","/y")).host("a.test", true).await);
    }
}
