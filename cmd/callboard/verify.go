package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"

	"callboard/cmd/process"
	"callboard/projector/rebuild"
	"callboard/projector/store"
)

type verifyCommand struct {
	output
	effort
	Systems []phoneSystem `name:"system" sep:"none" placeholder:"UUID" help:"Look at this phone system alone; may be repeated. 'global' is what belongs to no single one."`
	projectionServers
}

// errForeign is why rows that differ are no defect.
var errForeign = errors.New("the projection was built by another release, so rows are to be expected to differ\n" +
	"'callboard rebuild --dry-run' shows what would change, 'callboard rebuild' changes it")

// Run prints what differs, and fails if anything does.
func (c *verifyCommand) Run(ctx context.Context, streams process.Streams) error {
	effort, err := c.complete()
	if err != nil {
		return err
	}
	work := rebuilding{servers: c.projectionServers, effort: effort, errs: streams.Err, paused: "Nothing was written"}
	var found rebuild.Comparison
	err = work.run(ctx, func(config rebuild.Config) (err error) {
		found, err = rebuild.Verify(ctx, config, c.systems()...)
		return err
	})
	if err != nil {
		return err
	}
	found = wholly(found)
	if c.JSON || !found.OtherDefinition {
		if err := c.print(streams.Out, found, func(w io.Writer) error { return c.write(w, found) }); err != nil {
			return err
		}
	}
	return c.verdict(found)
}

func (c *verifyCommand) systems() []uuid.UUID {
	var list []uuid.UUID
	for _, s := range c.Systems {
		list = append(list, s.id)
	}
	return list
}

// unknown tells whether the phone systems that were asked for have neither rows nor events that should make some.
func (c *verifyCommand) unknown(found rebuild.Comparison) bool {
	return len(c.Systems) > 0 && found.Rows == 0 && !found.Differs()
}

func (c *verifyCommand) write(w io.Writer, found rebuild.Comparison) error {
	if c.unknown(found) {
		return nil
	}
	words := heldAgainst(map[rebuild.Kind]string{
		rebuild.KindMissing: "not served, should be", rebuild.KindSurplus: "served, should not be", rebuild.KindChanged: "served with another value",
	})
	if err := writeComparison(w, found, words); err != nil {
		return err
	}
	if found.Differs() {
		return writeLines(w, []string{remedy(found)})
	}
	_, err := fmt.Fprintf(w, "%d rows of %d tables are as they should be.\n", found.Rows, len(store.Tables()))
	return err
}

// remedy is what makes right what differs. A repair makes the rows of one phone system anew, and neither tables nor the ledger.
func remedy(found rebuild.Comparison) string {
	inLedger := func(d rebuild.Difference) bool { return d.Table == ledger }
	switch {
	case len(found.Unreadable) > 0:
		return "Make these messages readable again, a transcript's object that is gone for example, and verify again."
	case len(found.MissingColumns) > 0 || slices.ContainsFunc(found.Samples, inLedger):
		return "'callboard rebuild' makes it right."
	}
	system := found.Samples[0].System
	another := func(d rebuild.Difference) bool { return d.System != system }
	if unlisted(found) != "" || slices.ContainsFunc(found.Samples, another) {
		return "'callboard repair --system ID' for each of the phone systems, or 'callboard rebuild', makes it right."
	}
	return fmt.Sprintf("'callboard repair --system %s' or 'callboard rebuild' makes it right.", phoneSystem{system})
}

func (c *verifyCommand) verdict(found rebuild.Comparison) error {
	switch {
	case found.OtherDefinition:
		return errForeign
	case c.unknown(found):
		return unknownSystems(c.systems()...)
	case found.Differs():
		return process.ErrFailed
	}
	return nil
}
