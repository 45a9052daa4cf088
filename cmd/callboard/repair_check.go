package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/rebuild"
	"callboard/projector/store"
)

// repairable is an error where a repair of the phone system can't succeed, or would be of one that nobody knows.
func repairable(ctx context.Context, config rebuild.Config, system uuid.UUID) error {
	return config.Database.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		shape, err := store.ReadCatalog(ctx, conn.Conn(), "projection")
		if err != nil {
			return fmt.Errorf("%w\n'callboard migrate' makes them", err)
		}
		if err := whole(shape); err != nil {
			return err
		}
		if system == uuid.Nil {
			return nil
		}
		rowed, err := store.PhoneSystemIDs(ctx, conn.Conn(), shape)
		if err != nil || slices.Contains(rowed, system) {
			return err
		}
		told, err := hasMessages(ctx, config, system)
		if err == nil && !told {
			err = unknownSystems(system)
		}
		return err
	})
}

// whole is an error where tables or columns aren't there.
func whole(shape store.Catalog) error {
	var names []string
	for _, column := range shape.Missing() {
		names = append(names, column.String())
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("the live projection lacks %s: another release built it, or somebody changed it\n'callboard rebuild' makes it anew", strings.Join(names, ", "))
}

// hasMessages tells whether the stream has any about the phone system.
func hasMessages(ctx context.Context, config rebuild.Config, system uuid.UUID) (bool, error) {
	stream, err := config.JetStream.Stream(ctx, config.Stream)
	if err != nil {
		return false, fmt.Errorf("stream %s: %w", config.Stream, err)
	}
	partitions, err := events.Partitions(stream.CachedInfo().Config)
	if err != nil {
		return false, err
	}
	ofPartition := strings.TrimSuffix(events.PartitionFilter(events.Partition(system, partitions)), ">")
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(ofPartition+system.String()+".>"))
	if err != nil {
		return false, fmt.Errorf("phone system: %w", err)
	}
	return len(info.State.Subjects) > 0, nil
}

// unknownSystems is the error of those that have neither rows nor messages.
func unknownSystems(systems ...uuid.UUID) error {
	names := make([]string, len(systems))
	for i, system := range systems {
		names[i] = systemName(system)
	}
	return fmt.Errorf("neither the stream nor the projection knows %s", strings.Join(names, ", "))
}
