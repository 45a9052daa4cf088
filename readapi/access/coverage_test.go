package access

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
)

// setWatermark sets the watermark of a partition to an age by the database's clock.
func (h *harness) setWatermark(partition int, age time.Duration) {
	h.Helper()
	h.exec(`insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
		values ($1, gen_random_uuid(), 1, 1, now(), now() - $2::interval)
		on conflict (partition) do update set watermark = excluded.watermark`, partition, age)
}

func (h *harness) grantKey(kind GrantKind, id uuid.UUID) Key {
	h.Helper()
	request := minimalSpec()
	request.Grant = Grant{Kind: kind, ID: id}
	return h.issue(request).Key
}

// expectAge checks an age, which rises while the test runs: 0 is no age.
func (h *harness) expectAge(what string, a *Authorizer, key Key, system uuid.UUID, want time.Duration) {
	h.Helper()
	got := h.authorize(a, key, system).CoverageAge
	if got < want || got > want+30*time.Minute || want == 0 && got != 0 {
		h.Errorf("%s: age = %v, want %v and the time since", what, got, want)
	}
}

// systemIn adds a phone system of one of 16 partitions.
func (h *harness) systemIn(partition int, organization uuid.UUID) uuid.UUID {
	h.Helper()
	id := uuid.New()
	for events.Partition(id, 16) != partition {
		id = uuid.New()
	}
	h.exec("insert into projection.phone_system (id, version, name, organization_id, partition) values ($1, 1, 'one', $2, $3)", id, organization, partition)
	return id
}

// The groups' partition decides about groups, and the phone system's partition about organizations.
func TestAuthorizer_CoverageAge(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.exec("update projection.generation set partitions = 16")
	global := events.Partition(uuid.Nil, 16)
	fresh, old := (global+1)%16, (global+2)%16
	organization, other := uuid.New(), uuid.New()
	inFresh, inOld := h.systemIn(fresh, organization), h.systemIn(old, organization)
	h.systemIn(fresh, other)
	system, group := h.grantKey(GrantSystem, inOld), h.grantKey(GrantGroup, uuid.New())
	both, one, none := h.grantKey(GrantOrganization, organization), h.grantKey(GrantOrganization, other), h.grantKey(GrantOrganization, uuid.New())
	for partition, age := range map[int]time.Duration{global: 2 * time.Hour, fresh: time.Hour, old: 3 * time.Hour, (global + 3) % 16: 9 * time.Hour} {
		h.setWatermark(partition, age)
	}
	a := h.authorizer(h.pepper) // which doesn't know the number of partitions yet
	h.expectAge("group, list", a, group, uuid.Nil, 2*time.Hour)
	h.expectAge("group, phone system", a, group, inOld, 2*time.Hour)
	h.expectAge("organization, list", a, both, uuid.Nil, 3*time.Hour)
	h.expectAge("organization, list of a fresh partition", a, one, uuid.Nil, time.Hour)
	h.expectAge("organization without phone systems, list", a, none, uuid.Nil, 0)
	h.expectAge("organization, phone system", a, both, inFresh, time.Hour)
	h.expectAge("organization, phone system of an old partition", a, one, inOld, 3*time.Hour)
	h.expectAge("system, list", a, system, uuid.Nil, 0)
	h.expectAge("system", a, system, inOld, 0)
}

// A partition that no event has reached has no age.
func TestAuthorizer_CoverageAgeOfEmptyPartitions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	a := h.authorizer(h.pepper)
	group, organization := h.grantKey(GrantGroup, uuid.New()), h.grantKey(GrantOrganization, uuid.New())
	expect := func(what string) {
		t.Helper()
		for name, key := range map[string]Key{"group": group, "organization": organization} {
			for _, system := range []uuid.UUID{uuid.Nil, uuid.New()} {
				h.expectAge(what+", "+name, a, key, system, 0)
			}
		}
	}
	expect("no position")
	h.setWatermark(0, 0)
	h.exec("update projection.position set watermark = to_timestamp(0)")
	expect("a position that was just claimed")
}
