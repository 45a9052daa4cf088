package sender

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// FanOut is a fan-out for tests.
type FanOut struct{ fanOut }

// FanOutResult is what a step did.
type FanOutResult = fanOutResult

// NewFanOut returns a fan-out.
func NewFanOut(database *pgxpool.Pool, gate *Gate) *FanOut {
	return &FanOut{*newFanOut(database, gate)}
}

// Step fans out released notices.
func (f *FanOut) Step(ctx context.Context) (FanOutResult, error) { return f.step(ctx) }

// HeldSince returns when the oldest notice was recorded that is not fanned out yet.
func (f *FanOut) HeldSince(ctx context.Context) (*time.Time, error) { return f.heldSince(ctx) }
