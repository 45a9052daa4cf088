package fault_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"callboard/readapi/access"
)

// resources are the paths of a phone system's lists, each with a detail of each row.
func resources() []string {
	return []string{
		"phones", "phone-numbers", "extensions", "agent-configs", "call-groups", "call-menus", "call-logs", "call-analyses", "voicemails", "recordings",
	}
}

// listPage is a page of a list.
type listPage struct{ Data []listRow }

type listRow struct {
	ID           string
	RecordingSid string
}

// id is the last segment of the detail's path.
func (r listRow) id() string { return cmp.Or(r.ID, r.RecordingSid) }

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
	p.turn++
	systems := p.harness.load.systems()
	system := systems[p.turn%len(systems)]
	p.key = p.harness.keys.systems[system]
	base, all := "/"+system.String(), resources()
	switch n := p.turn % (len(all) + 3); n {
	case len(all):
		p.get(ctx, p.reader, "", p.harness.keys.organization)
	case len(all) + 1:
		p.get(ctx, p.reader, base+"/call-log-reports/dimensions", p.key)
	case len(all) + 2:
		p.get(ctx, p.reader, base+"/call-log-reports?includeTranscripts=true&dateFrom=2026-05-01T00:00:00Z&dateTo=2026-07-01T00:00:00Z", p.key)
	default:
		p.list(ctx, base+"/"+all[n])
	}
}

func (p *poller) list(ctx context.Context, path string) {
	got, ok := p.get(ctx, p.reader, path, p.key)
	if !ok {
		return
	}
	var page listPage
	if err := json.Unmarshal(got.body, &page); err != nil {
		p.violation("%s: %v", path, err)
	} else if len(page.Data) > 0 {
		p.detail = path + "/" + page.Data[0].id()
	}
}

// strictInterval is the time between two requests of a strict client, which must not exceed a key's budget.
const strictInterval = 30 * time.Millisecond

// pager reads the lists of one reader page by page along their links.
type pager struct {
	*monotonicReader
	reader *reader
	path   string // of the next page; empty at the end of a list
	turn   int
}

func (p *pager) run(ctx context.Context) {
	p.every(ctx, strictInterval, func() {
		systems := p.harness.load.systems()
		if p.path == "" {
			p.turn++
			p.path = "/" + systems[p.turn%len(systems)].String() + "/" + []string{"call-logs", "voicemails"}[p.turn/len(systems)%2] + "?pageSize=20"
		}
		got, ok := p.get(ctx, p.reader, p.path, p.harness.keys.systems[systems[p.turn%len(systems)]])
		if p.path = ""; ok {
			p.path = nextPath(got.header.Get("Link"))
		}
	})
}

var nextLink = regexp.MustCompile(`<([^>]*)>; *rel="next"`)

// nextPath returns the path of the next page below the readers' URL; empty if there is none.
func nextPath(link string) string {
	match := nextLink.FindStringSubmatch(link)
	if match == nil {
		return ""
	}
	return strings.TrimPrefix(match[1], baseURL+"/customer/phone-systems")
}
