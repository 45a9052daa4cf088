package fault_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"syscall"
	"time"

	"callboard/events"
)

// kind is a kind of fault. It is over when inject returns: what was killed has been started again, what was cut is whole.
type kind struct {
	name   string
	inject func(*stage)
}

// kinds are all that can be had here.
func (s *stage) kinds(wanted *regexp.Regexp) []kind {
	return slices.DeleteFunc(slices.Concat(kinds(), s.diskKinds()), func(k kind) bool { return !wanted.MatchString(k.name) })
}

func (s *stage) diskKinds() []kind {
	if s.postgres.disk == nil || s.postgres.wal == nil || s.nats.disk == nil {
		return nil
	}
	return []kind{
		{"NATS's disk full", (*stage).fillNATS},
		{"PostgreSQL's log's disk full", (*stage).fillWAL},
		{"PostgreSQL's disk full", (*stage).fillDisk},
		{"PostgreSQL's disk full in a rebuild", (*stage).fillRebuild},
	}
}

func kinds() []kind {
	return []kind{
		{"projector killed", (*stage).killProjector},
		{"both projectors killed", (*stage).killProjectors},
		{"stream's clock stepped back", (*stage).stepBack},
		{"projector killed with rows loaded", killedAt(atAdvancing)},
		{"projector killed while it writes", killedAt(atWriting)},
		{"projector killed while it commits", killedAt(atCommitting)},
		{"projector frozen until its sessions are over", (*stage).freezeOut},
		{"projector frozen until its locks are taken", (*stage).freezeLocks},
		{"projector frozen until it is put out", (*stage).freezeLong},
		{"projector frozen with rows loaded", (*stage).freezeLoaded},
		{"projectors' sessions ended", (*stage).endAllSessions},
		{"answer to a commit lost", (*stage).loseAnswer},
		{"reader killed", (*stage).killReader},
		{"PostgreSQL stopped at once", (*stage).stopPostgres},
		{"NATS killed", (*stage).killNATS},
		{"consumer paused", (*stage).pauseConsumer},
		{"consumer deleted", (*stage).deleteConsumer},
		{"line slow", afflicted("latency", `"latency": 150, "jitter": 100`)},
		{"line sliced", afflicted("slicer", `"average_size": 40, "size_variation": 20, "delay": 20`)},
		{"line narrow", afflicted("bandwidth", `"rate": 20`)},
		{"line resetting", afflicted("reset_peer", `"timeout": 30`)},
		{"line dead", afflicted("timeout", `"timeout": 0`)},
		{"rebuild killed", (*stage).killRebuild},
		{"rebuild killed behind some parts", rebuildKilledAt(atPart)},
		{"rebuild killed at its indexes", rebuildKilledAt(atIndex)},
		{"rebuild killed before it stands still", (*stage).killStanding},
		{"projector killed while a rebuild follows", (*stage).followKilled},
		{"PostgreSQL stopped in a rebuild", (*stage).rebuildStopped},
		{"NATS killed in a rebuild", (*stage).rebuildCutOff},
		{"phone system repaired", (*stage).repairSystem},
	}
}

// deck deals the kinds so that all come equally often, in any order.
type deck struct {
	dice  *rand.Rand
	kinds []kind
	left  []kind
}

func (d *deck) draw() kind {
	if len(d.left) == 0 {
		d.left = slices.Clone(d.kinds)
		d.dice.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	k := d.left[0]
	d.left = d.left[1:]
	return k
}

// linger lets a fault last: for long, where some may, beyond what connections put up with. How long is what is random; nothing is
// waited for.
func (s *stage) linger() {
	longest := 1200 * time.Millisecond
	if s.long && s.dice.IntN(8) == 0 {
		longest = 20 * time.Second
	}
	moment := time.NewTimer(time.Duration(s.dice.Int64N(int64(longest))))
	<-moment.C
}

func (s *stage) flip() bool { return s.dice.IntN(2) == 0 }

func (s *stage) killProjector() {
	p := s.projectors[s.dice.IntN(len(s.projectors))]
	if s.dice.IntN(4) > 0 {
		p = s.owner()
	}
	p.kill()
	p.start()
}

func (s *stage) killProjectors() {
	for _, p := range s.projectors {
		p.kill()
	}
	s.linger()
	for _, p := range s.projectors {
		p.start()
	}
}

// stepBack is what a clock of NATS that was ahead for a while leaves behind: watermarks in its future.
func (s *stage) stepBack() {
	for _, p := range s.projectors {
		p.kill()
	}
	_, err := s.pool.Exec(s.tb.Context(), "update projection.position set watermark = greatest(watermark, now()) + $1::interval",
		time.Duration(1+s.dice.Int64N(3000))*time.Millisecond)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.linger()
	for _, p := range s.projectors {
		p.start()
	}
}

// killedAt kills a projector at a place in the middle of its transaction. Whether its successor is there before the transaction's
// own session has noticed is a matter of luck.
func killedAt(place string) func(*stage) {
	return func(s *stage) {
		b := s.raise(place)
		defer b.lift()
		p := b.captive()
		p.kill()
		if s.flip() {
			s.linger()
		}
		b.lift()
		p.start()
	}
}

// freezeOut lets a projector stop in the middle of whatever it does, until another has done its work.
func (s *stage) freezeOut() {
	p := s.owner()
	p.signal(syscall.SIGSTOP)
	s.linger()
	s.endSessions(p, nil)
	s.takenOver(p)
	s.caughtUp()
	p.signal(syscall.SIGCONT)
}

// freezeLocks lets it come back with its transactions as they were, and nothing of its own any more.
func (s *stage) freezeLocks() {
	p := s.owner()
	p.signal(syscall.SIGSTOP)
	s.endLockHolder(p)
	s.takenOver(p)
	s.linger()
	p.signal(syscall.SIGCONT)
}

// freezeLoaded lets it come back in the middle of a transaction that read its rows before another projector wrote them. It would
// undo that if it weren't fenced off.
func (s *stage) freezeLoaded() {
	b := s.raise(atLoading)
	defer b.lift()
	p := b.captive()
	p.signal(syscall.SIGSTOP)
	s.endSessions(p, b)
	s.takenOver(p)
	b.lift()
	s.caughtUp()
	p.signal(syscall.SIGCONT)
}

func (s *stage) endAllSessions() { s.end("usename = $1", projectorRole) }

// loseAnswer lets a commit be done and its answer not arrive.
func (s *stage) loseAnswer() {
	b := s.raise(atCommitting)
	defer b.lift()
	b.captive()
	restore := s.toPostgres.projectors.afflict(down, "timeout", `"timeout": 0`)
	const progress = "select sum(xmin::text::bigint)::bigint from projection.position" // which transactions wrote the rows
	before := s.number(progress)
	b.lift()
	await(s.tb, "a commit", func() bool { return s.number(progress) > before })
	restore()
}

func (s *stage) killReader() {
	r := s.readers[s.dice.IntN(len(s.readers))]
	r.kill()
	r.start()
}

func (s *stage) stopPostgres() {
	s.postgres.Kill()
	s.outages++
	s.linger()
	if err := s.postgres.Restart(s.tb.Context()); err != nil {
		s.tb.Fatal(err)
	}
	s.pool.Reset()
}

func (s *stage) killNATS() {
	s.nats.kill()
	s.linger()
	s.nats.start()
}

// pauseConsumer has a partition's consumer deliver nothing for a while.
func (s *stage) pauseConsumer() {
	name, pause := s.consumer(), time.Hour
	if _, err := s.stream().PauseConsumer(s.tb.Context(), name, time.Now().Add(pause)); err != nil {
		s.tb.Fatal(err)
	}
	s.linger()
}

func (s *stage) deleteConsumer() {
	if err := s.stream().DeleteConsumer(s.tb.Context(), s.consumer()); err != nil {
		s.tb.Fatal(err)
	}
}

// consumer waits for some partition's, and returns its name.
func (s *stage) consumer() (name string) {
	s.tb.Helper()
	system := s.feed.systems()[s.dice.IntN(len(s.feed.systems()))]
	partition := events.Partition(system, partitions)
	await(s.tb, "the partition's consumer", func() bool {
		consumers := s.stream().ListConsumers(s.tb.Context())
		for info := range consumers.Info() {
			if info.Config.Durable != "" && info.Config.FilterSubject == events.PartitionFilter(partition) {
				name = info.Name
			}
		}
		return name != ""
	})
	return name
}

// afflicted lets something be wrong with one of the lines for a while.
func afflicted(what, attributes string) func(*stage) {
	return func(s *stage) {
		lines := []*line{s.toNATS.projectors, s.toPostgres.projectors, s.toNATS.readers, s.toPostgres.readers}
		l := lines[s.dice.IntN(len(lines))]
		s.tb.Log(l.name())
		restore := l.afflictBoth(what, attributes)
		s.linger()
		restore()
	}
}
