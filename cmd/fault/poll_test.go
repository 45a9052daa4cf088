package fault_test

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// poll asks one reader for everything, in turn, whatever goes on.
type poll struct {
	*visitor
	reader *reader
	turn   int
	detail string // of the last list's first row
}

func newPoll(c *clients, r *reader) *poll { return &poll{visitor: newVisitor(c), reader: r} }

const pollEvery = 25 * time.Millisecond

func (p *poll) run(ctx context.Context) {
	p.every(ctx, pollEvery, func() { p.next(ctx) })
}

// next asks for a list, and for the first row's detail next time. That can be gone meanwhile.
func (p *poll) next(ctx context.Context) {
	systems := p.stage.feed.systems()
	if p.detail != "" {
		path := p.detail
		p.detail = ""
		p.ask(ctx, p.reader, path, p.stage.keyring.systems[systems[p.turn%len(systems)]], "", http.StatusNotFound)
		return
	}
	p.turn++
	system := systems[p.turn%len(systems)]
	key, home := p.stage.keyring.systems[system], "/"+system.String()
	all := resources()
	switch n := p.turn % (len(all) + 3); n {
	case len(all):
		p.ask(ctx, p.reader, "", p.stage.keyring.organization, "")
	case len(all) + 1:
		p.ask(ctx, p.reader, home+"/call-log-reports/dimensions", key, "")
	case len(all) + 2:
		p.ask(ctx, p.reader, home+"/call-log-reports?includeTranscripts=true&dateFrom=2026-05-01T00:00:00Z&dateTo=2026-07-01T00:00:00Z", key, "")
	default:
		got, ok := p.ask(ctx, p.reader, home+"/"+all[n].path, key, "")
		if !ok {
			return
		}
		var list listPage
		if err := json.Unmarshal(got.body, &list); err != nil {
			p.complain("%s: %v", all[n].path, err)
		} else if len(list.Data) > 0 {
			p.detail = home + "/" + all[n].path + "/" + list.Data[0].name()
		}
	}
}
