package sender_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"callboard/projector/webhook/sender"
	"callboard/schema/schematest"
)

const ended, analyzed = "call.ended", "call.analysis.completed"

func TestStep_Covering(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	organization, group := uuid.New(), uuid.New()
	f.Exec("update projection.phone_system set organization_id = $1 where id = $2", organization, id(1))
	f.Exec("insert into projection.phone_system_group_member (system_id, group_id) values ($1, $3), ($2, $3)", id(1), id(3), group)
	f.endpoint(1, "system", id(1), 0, ended)
	f.endpoint(2, "organization", organization, 0, ended, analyzed)
	f.endpoint(3, "group", group, 0, ended)
	f.endpoint(4, "system", id(1), 3, ended, analyzed)
	f.endpoint(5, "system", id(1), 0, ended)
	f.Exec("update webhook.endpoint set state = 'removed' where id = $1", id(105))
	f.endpoint(6, "system", id(1), 0, ended)
	f.Exec("update webhook.endpoint set state = 'adding', stream = null, from_sequence = null where id = $1", id(106))
	f.endpoint(7, "system", id(1), 1000, ended)
	f.Exec("update webhook.endpoint set stream = gen_random_uuid() where id = $1", id(107))
	f.endpoint(8, "system", id(2), 0, ended)
	f.Exec("update webhook.endpoint set state = 'paused' where id = $1", id(108))
	f.notice(0, 3, 0, id(1), ended)
	f.notice(0, 3, 1, id(1), analyzed)
	f.notice(0, 7, 0, id(2), ended)
	f.notice(0, 9, 0, id(1), analyzed)
	f.notice(1, 8, 0, id(3), ended)
	f.notice(1, 10, 0, id(4), ended) // of no phone system
	if got, want := f.step(), (sender.FanOutResult{Notices: 6, Deliveries: 10, Skipped: 1}); got.Notices != want.Notices ||
		got.Deliveries != want.Deliveries || got.Skipped != want.Skipped {
		t.Errorf("result = %+v, want %+v", got, want)
	}
	f.expect("a phone system", 1, "3_0")
	f.expect("an organization", 2, "3_0 3_1 9_0")
	f.expect("a group", 3, "3_0 8_0")
	f.expect("from sequence 3 on", 4, "9_0")
	f.expect("removed", 5, "")
	f.expect("while it is added", 6, "3_0")
	f.expect("registered at another stream", 7, "3_0")
	f.expect("paused", 8, "7_0")
	// Members that come and go: the next event follows.
	f.Exec("delete from projection.phone_system_group_member where system_id = $1", id(3))
	f.Exec("insert into projection.phone_system_group_member (system_id, group_id) values ($1, $2)", id(2), group)
	f.notice(1, 11, 0, id(3), ended)
	f.notice(0, 12, 0, id(2), ended)
	f.step()
	f.expect("another group", 3, "3_0 8_0 12_0")
	if again := f.step(); again.Notices != 0 {
		t.Errorf("notices of another step = %d, want 0", again.Notices)
	}
}

// An endpoint that is added after the stream was replaced gets nothing that the former one made fetchable before.
func TestStep_EndpointAddedAfterTheStreamWasReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.notice(0, 3, 0, id(1), ended)
	f.endpoint(1, "system", id(1), 1000, ended)
	f.Exec("update webhook.endpoint set stream = gen_random_uuid()")
	f.notice(0, 4, 0, id(1), ended)
	f.step()
	f.expect("recorded since it was added", 1, "4_0")
}

// Who reads a phone system and who is told about it follow from one rule.
func TestCovering_IsThatOfKeys(t *testing.T) {
	const key = `      and case k.grant_kind
        when 'system' then s.id = k.grant_id
        when 'organization' then s.organization_id = k.grant_id
        when 'group' then exists (
          select
          from projection.phone_system_group_member m
          where m.system_id = s.id
            and m.group_id = k.grant_id
        )
      end`
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(text)), " ")
	}
	condition := strings.TrimPrefix(strings.Join(strings.Fields(key), " "), "and ")
	if !strings.Contains(read("../../../readapi/access/authorize.sql"), condition) {
		t.Errorf("the condition of keys is another: change that of fan_out.sql, too")
	}
	if !strings.Contains(read("fan_out.sql"), strings.ReplaceAll(condition, "k.", "e.")) {
		t.Errorf("the condition of fan_out.sql is not that of keys")
	}
}

// Many more notices than one step takes: all arrive, in order, a message's together.
func TestStep_InPortions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.endpoint(1, "system", id(1), 0, ended)
	f.Exec(`insert into webhook.notice (stream, partition, sequence, ordinal, id, kind, system_id, call_sid, at)
		select '`+streamA+`', 0, s, o, format('evt_%s_%s', s, o), 'call.ended', $1, 'CA1', now()
		from generate_series(1, 700) s, generate_series(0, 2) o`, id(1))
	f.Exec("insert into webhook.floor values ('" + streamA + "', 0, 900)")
	applied(t, f.Database, streamA, 0, 900)
	f.step()
	var want strings.Builder
	for s := range 700 {
		for o := range 3 {
			fmt.Fprintf(&want, " %d_%d", s+1, o)
		}
	}
	f.expect("all", 1, want.String()[1:])
	var cursor int64
	if err := f.Super.QueryRow(t.Context(), "select sequence from webhook.fanout").Scan(&cursor); err != nil || cursor != 900 {
		t.Errorf("cursor = %d, %v, want 900: the floor", cursor, err)
	}
}

// What a step fans out that began earlier, but came later to the cursor, is due later.
func TestStep_DueInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.endpoint(1, "system", id(1), 0, ended)
	f.notice(0, 1, 0, id(1), ended)
	began, proceed := make(chan struct{}), make(chan struct{})
	pause := sync.OnceFunc(func() {
		close(began)
		<-proceed
	})
	tracer := &schematest.Tracer{Statement: func(sql string, _ []any) {
		if strings.Contains(sql, "pg_advisory_xact_lock_shared") {
			pause()
		}
	}}
	early := sender.NewFanOut(schematest.OpenTracedPool(t, f.Database.RolePool(t, "callboard_webhooks"), tracer), nil)
	stepped := make(chan error, 1)
	go func() {
		_, err := early.Step(t.Context())
		stepped <- err
	}()
	<-began
	f.step()
	f.notice(0, 2, 0, id(1), ended)
	close(proceed)
	if err := <-stepped; err != nil {
		t.Fatal(err)
	}
	sequences := schematest.QueryOne[[]int64](t, f.Super, "select array_agg(sequence order by due_at, id) from webhook.waiting")
	if want := []int64{1, 2}; !slices.Equal(sequences, want) {
		t.Errorf("deliveries in the order in which they are due = %v, want %v", sequences, want)
	}
}

// One step takes some of many partitions, and the next one those that are further behind.
func TestStep_ManyPartitions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	const partitions = 20
	write := func(sequence int) {
		for partition := range partitions {
			applied(t, f.Database, streamA, partition, sequence)
		}
		f.Exec(`insert into webhook.floor select '`+streamA+`', p, $1 from generate_series(0, $2 - 1) p
			on conflict (stream, partition) do update set sequence = excluded.sequence`, sequence, partitions)
	}
	for sequence := range 3 {
		write(sequence + 1)
		if _, err := f.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var behind int
	err := f.Super.QueryRow(t.Context(), "select count(*) from webhook.fanout where sequence = 0").Scan(&behind)
	if err != nil || behind != 0 {
		t.Errorf("partitions without a turn = %d, %v, want 0", behind, err)
	}
}

// Senders share the partitions while projectors write: every endpoint gets each event once, and those of a partition in
// order.
func TestStep_Concurrently(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.endpoint(1, "system", id(1), 0, ended)
	f.endpoint(2, "system", id(3), 0, ended)
	const notices = 150
	var writing, stepping sync.WaitGroup
	for partition, system := range []uuid.UUID{id(1), id(3)} {
		writing.Go(func() {
			for n := range notices {
				if err := write(t.Context(), f.Super, partition, 2*n+partition+1, 0, system, ended); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	for range 3 {
		sender := sender.NewFanOut(f.Database.RolePool(t, "callboard_webhooks"), nil)
		stepping.Go(func() {
			for done := false; !done; {
				select {
				case <-written:
					done = true
				default:
				}
				if _, err := sender.Step(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	close(written)
	stepping.Wait()
	f.step()
	for partition := range 2 {
		var want strings.Builder
		for n := range notices {
			fmt.Fprintf(&want, " %d_0", 2*n+partition+1)
		}
		f.expect("all once and in order", partition+1, want.String()[1:])
	}
}

// A commit of a node and the coordinator shows its notices before its rows: they wait for the rows.
func TestStep_RowsOfNode(t *testing.T) {
	t.Parallel()
	schematest.NeedNodes(t)
	f := newFixture(t, nil)
	f.endpoint(1, "system", id(1), 0, ended)
	f.endpoint(2, "system", id(3), 0, ended)
	f.notice(0, 5, 0, id(1), ended)
	f.notice(1, 6, 0, id(3), ended)
	applied(t, f.Database, streamA, 0, 4)
	f.step()
	f.expect("before the rows", 1, "")
	f.expect("another partition", 2, "6_0")
	applied(t, f.Database, streamA, 0, 5)
	f.step()
	f.expect("with the rows", 1, "5_0")
}
