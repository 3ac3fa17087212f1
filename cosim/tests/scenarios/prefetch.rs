//! BUF-5 between whole NICs, in lockstep: fetches take room in the prefetch buffer, and packets take
//! egress room only as they are committed to the wire.

use cosim::settings::Settings;
use rtl_model::host_interface::level;
use rtl_model::nic::Nic;

use crate::common::{Log, PAIR, Passes, lockstep, message, settings, try_settings, until};

/// What a NIC's two buffers were asked for, and hold by that.
#[derive(Debug, Default)]
struct Book {
    /// Clocks of the fetches, of the commits, of other reservations, and of what came to nothing.
    takes: Vec<u64>,
    commits: Vec<u64>,
    others: u64,
    drops: u64,
    /// Bytes in the prefetch buffer, and reserved in the egress pool.
    held: [u64; 2],
    most: [u64; 2],
    /// Releases that leave half: of the prefetch buffer, of the egress pool.
    halves: [Vec<u64>; 2],
    /// Data frames begun and ended.
    starts: Vec<u64>,
    ends: u64,
}

impl Book {
    /// A clock: both buffers hold what the book says.
    fn look(&mut self, clock: u64, nic: &Nic) {
        let (pool, port) = (&nic.i.prefetch_pool, &nic.i.egress_arbiter);
        if nic.o.egress_arbiter.end_valid && nic.o.egress_arbiter.end_cls == 0 {
            self.held[1] -= u64::from(nic.o.egress_arbiter.end_len);
            self.ends += 1;
        }
        let egress = u64::from(level(&nic.o.egress_arbiter.occ, 0));
        assert_eq!(self.held, [u64::from(nic.o.prefetch_pool.occ), egress], "clock {clock}");
        if pool.take_valid {
            self.takes.push(clock);
            self.held[0] += u64::from(pool.bytes);
            assert!(!port.resv_valid, "clock {clock}: a fetch reserves no egress room");
        }
        if pool.commit_valid {
            self.commits.push(clock);
            self.held[0] -= u64::from(pool.bytes);
            assert!(port.resv_valid && port.resv_bytes == pool.bytes, "clock {clock}: a commit");
        }
        if pool.drop_valid {
            self.drops += 1;
            self.held[0] -= u64::from(pool.drop_bytes);
        }
        if port.resv_valid {
            self.others += u64::from(!pool.commit_valid);
            self.held[1] += u64::from(port.resv_bytes);
        }
        for (most, held) in self.most.iter_mut().zip(self.held) {
            *most = (*most).max(held);
        }
        let now = [nic.o.prefetch_pool.half_valid, nic.o.egress_arbiter.half_valid];
        for (halves, now) in self.halves.iter_mut().zip(now) {
            halves.extend(now.then_some(clock));
        }
        let starts = nic.o.egress_arbiter.tx_valid && nic.o.egress_arbiter.tx_cls == 0;
        self.starts.extend(starts.then_some(clock));
    }
}

/// The clocks in which passes begin for those half events that ring.
fn rung(passes: &Passes, halves: &[u64]) -> Vec<u64> {
    let rings = passes.rings.iter().filter(|ring| halves.contains(&ring.0));
    let begins = rings.map(|ring| passes.begins.iter().copied().find(|at| *at > ring.0));
    begins.map(|at| at.expect("a pass")).collect()
}

/// The scenario of a paused class: nothing answers before the pause is over. A message that comes in
/// the middle of it begins a pass.
fn paused(profile: &str) -> Settings {
    let pause = "[[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0]\nquanta = 12000\n\
                 at = \"100ns\"\n[[switch]]\naction = \"delay\"\nby = \"40us\"\n\
                 kind = [\"ACK\", \"SACK\"]\n";
    let top = format!(
        "limit = \"90us\"\nprofile = \"{profile}\"\n[defaults]\nMaxCongestionWindow = 1000\n\
         PrefetchBufferEnable = true\n{PAIR}{pause}"
    );
    let later = message("8192B", "at = \"12us\"");
    settings(&(top + &message("800KB", "at = \"300ns\"") + &later))
}

/// BUF-5, `uet.prefetch_pkts`: with the class paused the egress pool fills with the 54 (55) packets
/// that it holds, the prefetch buffer of 262,144 B with 62, and no more is fetched. Until the first
/// payload has come no egress room is reserved. A NIC that is asked says who waits for what.
#[test]
fn buf_5_a_paused_class_fills_the_prefetch_buffer_with_62_packets() {
    for (profile, egress, wire) in [("uet", 54, 4202), ("mrc", 55, 4174)] {
        let (settings, mut book) = (paused(profile), Book::default());
        let (mut first, mut waits) = (None, Vec::new());
        assert!(until(&settings, |world| {
            let nic = &world.nodes[0].nic;
            if world.clock > world.boot {
                book.look(world.clock, nic);
            }
            let read = nic.o.payload_fetch.commit_valid && first.is_none();
            if read {
                assert_eq!(book.held[1], 0, "nothing is reserved before the first payload");
                first = Some(book.takes.len());
            }
            if world.clock.is_multiple_of(64) && book.held == [62 * wire, egress * wire] {
                waits = nic.waits();
            }
            !book.starts.is_empty()
        }));
        for what in ["a payload waits for the egress pool", "a fetch waits for the prefetch buffer"]
        {
            assert!(waits.iter().any(|w| w == what), "{waits:?}");
        }
        assert!(first > Some(1), "{first:?} fetches before the first payload");
        assert_eq!(book.held, [62 * wire, egress * wire], "{profile}");
        assert_eq!(book.most, book.held);
        let packets = [book.takes.len(), book.commits.len()];
        assert_eq!(packets, [62 + egress as usize, egress as usize]);
        let last = book.takes[book.takes.len() - 1];
        assert!(book.starts[0] - last > 1_000, "fetches stopped long before the pause ends");
        assert_eq!(settings.nics[0].buffers.prefetch, Some(262_144));
    }
}

/// BUF-5, BUF-3, SEG-4: once the egress pool has refused a payload no other is committed while it
/// drains to half; 15 clocks after that release, the 27th (28th), commits begin, once.
#[test]
fn buf_5_commits_begin_again_at_half_of_the_egress_pool() {
    for (profile, egress, releases) in [("uet", 54, 27), ("mrc", 55, 28)] {
        let (settings, mut book) = (paused(profile), Book::default());
        let (mut ends, mut passes) = (Vec::new(), Passes::default());
        assert!(until(&settings, |world| {
            if world.clock > world.boot {
                book.look(world.clock, &world.nodes[0].nic);
            }
            passes.look(world.clock, &world.nodes[0].nic, 0);
            ends.extend((ends.len() < book.halves[1].len()).then_some(book.ends));
            book.commits.len() > egress
        }));
        assert_eq!(ends[0], releases, "{profile}: the first release that leaves half");
        let begins = rung(&passes, &book.halves[1]);
        assert_eq!(begins, [book.halves[1][0] + 15], "{profile}");
        // A turn goes first: the last thing before the stop was a commit.
        let late = book.commits[egress] - begins[0];
        assert!(late <= 10, "{profile}: {late} clocks from the pass to the next commit");
        assert!(book.commits[egress - 1] < book.starts[0], "none while the pool drains");
    }
}

/// BUF-5, SEG-4: a prefetch buffer of four packets stops the pass; the release that leaves two of
/// them begins it again 15 clocks later, though there was room for one before.
#[test]
fn buf_5_fetches_begin_again_at_half_of_the_prefetch_buffer() {
    let top = format!(
        "limit = \"60us\"\nprofile = \"uet\"\n[defaults]\nMaxCongestionWindow = 1000\n\
         PrefetchBufferEnable = true\nPrefetchBufferSize = \"16808B\"\n{PAIR}\
         [[switch]]\naction = \"delay\"\nby = \"30us\"\nkind = [\"ACK\", \"SACK\"]\n"
    );
    let settings = settings(&(top + &message("40960B", "")));
    let (mut book, mut passes) = (Book::default(), Passes::default());
    assert!(until(&settings, |world| {
        if world.clock > world.boot {
            book.look(world.clock, &world.nodes[0].nic);
        }
        passes.look(world.clock, &world.nodes[0].nic, 0);
        book.commits.len() == 10
    }));
    assert_eq!(book.most[0], 16_808, "filled to the byte");
    assert!(book.takes[3] < book.commits[0] && book.takes[4] > book.commits[1], "{book:?}");
    let half = book.halves[0].iter().copied().find(|half| *half > book.takes[3]).expect("half");
    let begins = rung(&passes, &book.halves[0]);
    assert_eq!(begins[0], half + 15);
    let late = book.takes[4] - begins[0];
    assert!(late <= 9, "{late} clocks from the pass to the next fetch");
    // Once a stop: no two rings without a pass that is stopped again between them.
    let rings = passes.rings.iter().map(|ring| ring.0).collect::<Vec<_>>();
    assert!(rings.len() >= 3, "{rings:?}");
    for pair in rings.windows(2) {
        let stops = passes.stops.iter().filter(|at| (pair[0] + 15..pair[1]).contains(at));
        assert_eq!(stops.count(), 1, "{pair:?} {passes:?}");
    }
}

/// BUF-5, BUF-2: a buffer that holds no full packet is refused, and so is a size that changes
/// nothing; one of exactly a packet carries a message, one payload after the other.
#[test]
fn buf_5_refused_below_one_packet() {
    let text = |keys: &str| {
        let top = format!("limit = \"200us\"\nbuild = \"small\"\nprofile = \"uet\"\n{PAIR}{keys}");
        top + &message("41000B", "offset = 9")
    };
    let on = "PrefetchBufferEnable = true\n";
    for (keys, what) in [
        (format!("{on}PrefetchBufferSize = \"4201B\"\n"), "4201 B < 4202 B, a full packet"),
        ("PrefetchBufferSize = \"8KB\"\n".into(), "without PrefetchBufferEnable"),
        (format!("{on}PrefetchBufferSize = \"0B\"\n"), "0 B is not from 1"),
    ] {
        let error = try_settings(&text(&keys)).expect_err(&keys).to_string();
        assert!(error.contains(what) && error.contains("BUF-5"), "{error}");
        assert!(error.contains("PrefetchBufferSize"), "{error}");
    }
    let settings = settings(&text(&format!("{on}PrefetchBufferSize = \"4202B\"\n")));
    assert_eq!(settings.nics.iter().map(|n| n.buffers.prefetch).max(), Some(Some(4202)));
    let mut book = Book::default();
    // NIC b has it, so b sends.
    let mut back = settings;
    (back.messages[0].from, back.messages[0].to) = (1, 0);
    let done = lockstep(&back, &mut Log::default(), |world| {
        if world.clock > world.boot {
            book.look(world.clock, &world.nodes[1].nic);
        }
    });
    assert_eq!((done.world.driver.intact, book.most[0]), (1, 4202));
    assert_eq!([book.takes.len(), book.commits.len()], [11, 11]);
    assert!(book.takes.iter().skip(1).zip(&book.commits).all(|(take, commit)| take > commit));
}

/// BUF-5, RTX-1, CPL-2: retransmissions and copies fetch nothing: they take egress room alone, also
/// where commits compete for it; each message arrives whole and both buffers are empty in the end.
#[test]
fn buf_5_retransmissions_take_no_prefetch_room() {
    let rules = "[[switch]]\naction = \"drop\"\nkind = \"data\"\nprobability = 0.1\n\
                 [[switch]]\naction = \"trim\"\nprobability = 0.05\n\
                 [[switch]]\naction = \"drop\"\nkind = \"ACK\"\nprobability = 0.2\n\
                 [[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0]\nquanta = 400\n\
                 at = \"3us\"\ngap = \"4us\"\ncount = 6\n";
    let top = format!(
        "limit = \"900us\"\nbuild = \"small\"\nprofile = \"uet\"\n[defaults]\n\
         InitialAckTimeout = \"9us\"\nSACKLossMinRetxPkts = 3\nPrefetchBufferEnable = true\n\
         PrefetchBufferSize = \"25KB\"\nEgressBufferManager.TotalBufferSize = \"15KB\"\n\
         {PAIR}{rules}"
    );
    let settings = settings(&(top + &message("0B", "most = \"90KB\"\ncount = 9\noutstanding = 3")));
    let mut book = Book::default();
    let done = lockstep(&settings, &mut Log::default(), |world| {
        if world.clock > world.boot {
            book.look(world.clock, &world.nodes[0].nic);
        }
    });
    assert_eq!((done.world.driver.intact, book.held), (9, [0, 0]));
    assert_eq!((book.takes.len(), book.drops), (book.commits.len(), 0));
    assert!(book.others > 10, "{} retransmissions and copies", book.others);
    assert!(book.most[0] > 20_000 && book.most[1] > 12_000, "{:?}", book.most);
}

/// BUF-5, QP-6, PCI-8: a read fails while payloads wait for a paused class: those of its QP give back
/// what they hold in the prefetch buffer, and no egress room, as they had none.
#[test]
fn buf_5_a_qp_in_error_returns_what_it_has_prefetched() {
    let rules = "[[fault]]\nnic = \"a\"\nkind = \"unsupported-request\"\nat = \"1us\"\n\
                 [[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0]\nquanta = 3000\n";
    let top = format!(
        "limit = \"300us\"\nbuild = \"small\"\nprofile = \"uet\"\n[defaults]\n\
         PrefetchBufferEnable = true\nPrefetchBufferSize = \"60KB\"\n\
         EgressBufferManager.TotalBufferSize = \"10KB\"\n{PAIR}{rules}"
    );
    let later = message("30000B", "at = \"1500ns\"");
    let settings = settings(&(top + &message("200KB", "") + &later));
    let mut book = Book::default();
    let done = lockstep(&settings, &mut Log::default(), |world| {
        if world.clock > world.boot {
            book.look(world.clock, &world.nodes[0].nic);
        }
    });
    assert_eq!((done.world.driver.intact, book.held), (1, [0, 0]));
    assert!(book.drops > 3, "{} payloads came to nothing", book.drops);
    assert_eq!(book.takes.len() as u64, book.commits.len() as u64 + book.drops);
}

/// BUF-5: without the option nothing is prefetched, and a fetch reserves egress room as it is issued.
#[test]
fn buf_5_off_by_default() {
    let text = format!("limit = \"90us\"\nbuild = \"small\"\n{PAIR}{}", message("90KB", ""));
    let mut fetches = 0;
    lockstep(&settings(&text), &mut Log::default(), |world| {
        let nic = &world.nodes[0].nic;
        let pool = &nic.i.prefetch_pool;
        assert!(!(pool.take_valid || pool.commit_valid || pool.drop_valid));
        assert_eq!(nic.o.prefetch_pool.occ, 0);
        if nic.o.tx_scheduler.seg_valid && nic.i.tx_scheduler.seg_ready {
            fetches += 1;
        }
    });
    assert_eq!(fetches, 22);
}
