//go:build linux

package load_test

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"callboard/events"
)

// plainWorkers is how many plain consumers divide the partitions among them.
const plainWorkers = 4

// upsertEventSQL writes the row of an event whose version is newer than that of the row.
const upsertEventSQL = `
	insert into plain as p (system_id, entity, key, version, data) values ($1, $2, $3, $4, $5)
	on conflict (system_id, entity, key) do update set version = excluded.version, data = excluded.data where p.version < excluded.version`

// consumePlainly consumes some events of the stream as a first version of a projector would, one event a transaction, and returns the
// events per second.
func (i *installation) consumePlainly(total int) float64 {
	i.Helper()
	i.exec("create table plain (system_id uuid, entity text, key text, version bigint, data json, primary key (system_id, entity, key))")
	var left atomic.Int64
	left.Store(int64(total))
	var workers errgroup.Group
	began := time.Now()
	for worker := range plainWorkers {
		workers.Go(func() error { return i.consume(worker, &left) })
	}
	if err := workers.Wait(); err != nil {
		i.Fatal(err)
	}
	return float64(total) / time.Since(began).Seconds()
}

// consume applies the messages of a worker's partitions until none of all workers' are left.
func (i *installation) consume(worker int, left *atomic.Int64) error {
	var filters []string
	for partition := worker; partition < events.DefaultPartitions; partition += plainWorkers {
		filters = append(filters, events.PartitionFilter(partition))
	}
	name := fmt.Sprintf("plain-%d", worker)
	consumer, err := i.js.CreateOrUpdateConsumer(i.Context(), events.StreamName, jetstream.ConsumerConfig{
		Durable: name, FilterSubjects: filters, AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		return err
	}
	defer func() { _ = i.js.DeleteConsumer(background(), events.StreamName, name) }() // the next round creates another one
	conn, err := pgx.Connect(i.Context(), i.postgres.URL(i.database))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(background()) }()
	for left.Load() > 0 {
		// A worker whose partitions have no more messages waits for the others.
		m, err := consumer.Fetch(100, jetstream.FetchMaxWait(100*time.Millisecond))
		if err != nil {
			return err
		}
		for message := range m.Messages() {
			if left.Add(-1) < 0 {
				continue
			}
			if err := i.applyPlainly(conn, message); err != nil {
				return err
			}
		}
		if err := m.Error(); err != nil {
			return err
		}
	}
	return nil
}

func (i *installation) applyPlainly(conn *pgx.Conn, message jetstream.Msg) error {
	e, err := events.Decode(events.Message{Subject: message.Subject(), Header: message.Headers(), Data: message.Data()})
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(i.Context(), conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(i.Context(), upsertEventSQL, e.System.String(), e.Entity, e.Key, e.Version, message.Data())
		return err
	})
	if err != nil {
		return err
	}
	return message.Ack()
}
