use super::{Address, Body, Message, Request};
use crate::random::Random;
use crate::request::{Remote, Status};

fn samples() -> Vec<Message> {
    let remote = Remote { address: 0x1234_5678_9abc_def0, key: 0x8765_4321 };
    let request = |request| Body::Request { number: 77, request };
    let bodies = [
        Body::Hello { port: 3, sequence: 0x00fe_dcba },
        Body::Welcome,
        Body::Absent,
        request(Request::Write {
            remote,
            bytes: vec![1, 2, 3],
            immediate: Some(9),
            solicited: true,
            retries: 7,
        }),
        request(Request::Send { bytes: Vec::new(), immediate: None, solicited: false, retries: 0 }),
        request(Request::Read { remote, length: 4096 }),
        request(Request::CompareAndSwap { remote, compare: 1, swap: u64::MAX }),
        request(Request::FetchAndAdd { remote, add: 5 }),
        request(Request::AtomicWrite { remote, value: u64::MAX }),
        request(Request::Flush { remote, length: Some(u64::MAX), needs: 1 << 9 }),
        request(Request::Flush { remote, length: None, needs: 3 << 8 }),
        request(Request::Datagram {
            key: 7,
            port: 1,
            from_port: 2,
            header: Some([9; super::HEADER]),
            bytes: vec![4; 5],
            immediate: Some(1),
            solicited: false,
        }),
        Body::Done { number: 1, bytes: vec![0; 100] },
        Body::Failed { number: 2, status: Status::RemoteAccess },
        Body::Ended,
    ];
    let address = |host, queue_pair| Address { host, queue_pair };
    let message = |body| Message { to: address(1, 17), from: address(2, 18), session: 19, body };
    bodies.into_iter().map(message).collect()
}

fn write(message: Message, out: &mut Vec<u8>) {
    let data = message.write(out);
    out.extend(data);
}

#[test]
fn what_is_written_is_read() {
    let mut bytes = Vec::new();
    samples().into_iter().for_each(|message| write(message, &mut bytes));
    let mut rest = bytes.as_slice();
    for message in samples() {
        let read = Message::read(rest).expect("it is sound").expect("it is whole");
        assert_eq!((read.message, read.missing), (message, 0));
        rest = &rest[read.length..];
    }
    assert_eq!(Message::read(rest), Ok(None));
}

#[test]
fn data_may_come_later() {
    let mut message = samples().remove(3);
    let data: Vec<u8> = (0..200).collect();
    *message.body.data().expect("a write has data") = data.clone();
    let mut bytes = Vec::new();
    write(message.clone(), &mut bytes);
    for end in 0..bytes.len() {
        let Some(mut read) = Message::read(&bytes[..end]).expect("it is sound") else {
            assert!(end < 4 + super::HEAD);
            continue;
        };
        assert_eq!((read.length, read.missing), (end, bytes.len() - end));
        read.message.body.data().expect("a write has data").extend(&bytes[end..]);
        assert_eq!(read.message, message);
    }
}

#[test]
fn a_part_is_not_yet_a_message_and_no_bytes_make_it_panic() {
    for message in samples() {
        let mut bytes = Vec::new();
        write(message, &mut bytes);
        for end in 0..bytes.len().min(4 + super::HEAD) {
            assert_eq!(Message::read(&bytes[..end]), Ok(None));
        }
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let mut broken = bytes.clone();
            let place = random.below(broken.len() as u64) as usize;
            broken[place] ^= 1 << random.below(8);
            let _ = Message::read(&broken);
        }
    }
    assert!(Message::read(&[255; 16]).is_err());
}
