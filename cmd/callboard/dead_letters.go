package main

import (
	"errors"
	"fmt"

	"callboard/cmd/process"
	"callboard/projector/deadletter"
)

type deadLettersCommand struct {
	List  deadLettersListCommand  `cmd:"" help:"List the dead letters that are open, the oldest first."`
	Show  deadLettersShowCommand  `cmd:"" help:"Show one dead letter, what was in it, and what to do about it."`
	Retry deadLettersRetryCommand `cmd:"" help:"Have dead letters tried again, and wait for what becomes of them. Exit 1 where any is still one, or still waits."`
	Drop  deadLettersDropCommand  `cmd:"" help:"Settle dead letters for good and forget what was in them; --all takes a --reason. They stay counted as dead."`
}

// chosenLetters are those that a command does something with.
type chosenLetters struct {
	IDs    []int64 `arg:"" optional:"" name:"id" help:"Their ids, from 'dead-letters list'."`
	All    bool    `help:"All that are open; 'drop' takes a --reason with it."`
	Reason string  `placeholder:"TEXT" help:"Of all, only those whose reason holds this text."`
}

func (c chosenLetters) choice() (deadletter.Choice, error) {
	switch {
	case c.All == (len(c.IDs) > 0):
		return deadletter.Choice{}, &process.UsageError{Detail: "either ids or --all say which dead letters are meant"}
	case !c.All && c.Reason != "":
		return deadletter.Choice{}, &process.UsageError{Detail: "--reason goes with --all"}
	}
	return deadletter.Choice{IDs: c.IDs, Reason: c.Reason}, nil
}

// none says that there is nothing to do.
func (c chosenLetters) none() string {
	if c.Reason != "" {
		return fmt.Sprintf("No open dead letter's reason holds %q.", c.Reason)
	}
	return "No open dead letters."
}

// lettersRefused adds to an error what to do about it.
func lettersRefused(err error) error {
	var unknown *deadletter.UnknownError
	var obstacle *deadletter.ObstacleError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w; 'callboard dead-letters list --all' shows those there are", err)
	case errors.As(err, &obstacle):
		return fmt.Errorf("%w\n'callboard dead-letters show %d' shows what is in it, and 'drop' settles it; nothing was asked for", err, obstacle.ID)
	}
	return err
}
