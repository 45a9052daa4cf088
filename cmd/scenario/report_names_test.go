package scenario_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/rebuild"
)

// While an extension is renamed, and the projection is rebuilt, repaired and rolled back, no page has a name older than the one that was
// applied before the page was requested.
func TestReports_NamesWhileTheProjectionIsReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	o := f.ownSystem()
	extension := uuid.New()
	rename := func(name int64) { o.apply(o.extension(extension, strconv.FormatInt(name, 10), "active")) }
	rename(0)
	o.apply(o.editCall(func(c *events.Call) { c.AnsweredByExtensionID = events.Some(extension) }))

	var applied, pages atomic.Int64 // applied is the last name
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var readers, operations errgroup.Group
	for range 4 {
		readers.Go(func() error {
			for ctx.Err() == nil {
				before := applied.Load()
				if name, err := o.nameInReport(t.Context()); err != nil || name < before {
					return fmt.Errorf("name = %d, error = %w, want %d or a later one", name, err, before)
				}
				pages.Add(1)
			}
			return nil
		})
	}
	operations.Go(func() error { defer stop(); return o.replaceProjection(t) })
	for name := int64(1); ctx.Err() == nil; name++ {
		rename(name)
		applied.Store(name)
	}
	for _, group := range []*errgroup.Group{&readers, &operations} {
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d pages while %d names were applied", pages.Load(), applied.Load())
}

// replaceProjection runs the operations that replace rows.
func (o *ownSystem) replaceProjection(t *testing.T) error {
	t.Helper()
	config := rebuild.Config{JetStream: o.JetStream, Stream: events.StreamName, Database: o.Pool, Spool: t.TempDir()}
	if _, err := rebuild.Run(t.Context(), config, true); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	if _, err := rebuild.Repair(t.Context(), config, o.system, 1000); err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	for range 2 {
		if _, err := rebuild.Rollback(t.Context(), config); err != nil {
			return fmt.Errorf("rollback: %w", err)
		}
	}
	return nil
}

// nameInReport returns the name, a number, of the extension that answered the call. It may run in any goroutine.
func (o *ownSystem) nameInReport(ctx context.Context) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.url(o.path("/call-log-reports?"+wholeWindow)), nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("X-API-Key", o.key.Reveal())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var page struct {
		Data []struct{ AnsweredByExtension struct{ Name string } }
	}
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil || response.StatusCode != http.StatusOK || len(page.Data) != 1 {
		return 0, fmt.Errorf("status %d, %d rows: %w", response.StatusCode, len(page.Data), err)
	}
	return strconv.ParseInt(page.Data[0].AnsweredByExtension.Name, 10, 64)
}
