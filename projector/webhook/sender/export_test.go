package sender

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// FanOut is a sender of which tests run the fan-out alone.
type FanOut struct{ sender *Sender }

// FanOutResult is what a step did.
type FanOutResult = fanOutResult

// NewFanOut returns a fan-out.
func NewFanOut(database *pgxpool.Pool, gate *Gate) *FanOut {
	return &FanOut{&Sender{config: Config{Database: database, Gate: gate}}}
}

// Step fans out released notices.
func (f *FanOut) Step(ctx context.Context) (FanOutResult, error) { return f.sender.fanOutReleased(ctx) }

// HeldSince returns when the oldest notice was recorded that is not fanned out yet.
func (f *FanOut) HeldSince(ctx context.Context) (*time.Time, error) { return f.sender.heldSince(ctx) }
