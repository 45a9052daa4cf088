package fault_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"callboard/readapi/access"
)

// poller requests every operation of one reader in turn.
type poller struct {
	*monotonicReader
	reader *reader
	turn   int

	detail string // the path of the last list's first row, which comes next
	key    access.Key
}

const pollInterval = 60 * time.Millisecond

func (p *poller) run(ctx context.Context) {
	p.every(ctx, pollInterval, func() { p.next(ctx) })
}

// next requests a list, or the detail of the last list's first row. The row can be deleted meanwhile.
func (p *poller) next(ctx context.Context) {
	if path := p.detail; path != "" {
		p.detail = ""
		p.get(ctx, p.reader, path, p.key, http.StatusNotFound)
		return
	}
	paths := []string{
		"", "/call-log-reports/dimensions",
		"/call-log-reports?includeTranscripts=true&dateFrom=2026-05-01T00:00:00Z&dateTo=2026-07-01T00:00:00Z",
		"/phones", "/phone-numbers", "/extensions", "/agent-configs", "/call-groups", "/call-menus", "/call-logs",
		"/call-analyses", "/voicemails", "/recordings",
	}
	p.turn++
	systems := p.harness.load.systems()
	system := systems[p.turn%len(systems)]
	p.key = p.harness.keys.systems[system]
	switch n := p.turn % len(paths); {
	case n == 0:
		p.get(ctx, p.reader, "", p.harness.keys.organization)
	case n < 3:
		p.get(ctx, p.reader, "/"+system.String()+paths[n], p.key)
	default:
		p.list(ctx, "/"+system.String()+paths[n])
	}
}

func (p *poller) list(ctx context.Context, path string) {
	got, ok := p.get(ctx, p.reader, path, p.key)
	if !ok {
		return
	}
	var page struct {
		Data []struct{ ID, RecordingSid string }
	}
	if err := json.Unmarshal(got.body, &page); err != nil {
		p.violation("%s: %v", path, err)
	} else if len(page.Data) > 0 {
		p.detail = path + "/" + cmp.Or(page.Data[0].ID, page.Data[0].RecordingSid)
	}
}
