package main

import (
	"io"
	"time"

	"callboard/cmd/progress"
)

// retryProgress shows how far a wait has come, once it takes long.
type retryProgress struct {
	out     io.Writer
	began   time.Time
	total   int
	display *progress.Display // nil: not long yet
	task    *progress.Task
}

// progressAfter is how long a wait is silent.
const progressAfter = 2 * time.Second

func (p *retryProgress) set(done int) {
	if p.display == nil {
		if time.Since(p.began) < progressAfter {
			return
		}
		p.display = progress.New(p.out)
		p.display.Say("waiting for the projectors")
		p.task = p.display.Await("retrying", "dead letters", int64(p.total))
	}
	p.task.Set(int64(done))
}

func (p *retryProgress) close() {
	if p.display != nil {
		p.display.Close()
	}
}
