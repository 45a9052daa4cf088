package console

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"callboard/events"
	"callboard/projector/deadletter"
	"callboard/projector/status"
)

// behindAfter is the watermark's age from which a partition counts as behind: the first level of the alert ProjectionBehind.
const behindAfter = 30 * time.Second

// state is the state of a partition in a word.
type state string

const (
	isCurrent state = "current"
	isBehind  state = "behind"
	noOwner   state = "no owner"
	isStopped state = "stopped"
)

// view holds what the page shows.
type view struct {
	assets

	Stream string
	Now    time.Time
	Read   string // when the report was read; empty: there is none
	Age    string // of the report
	Stale  bool   // a later report could not be read
	Issues []issue
	// MoreIssues is the number of issues that are left out.
	MoreIssues int

	Tiles         []tile
	Chart         chart
	Partitions    []partitionView
	Generations   []generationView
	MessageCounts []status.MessageCount // the last one is the total; nil: there is no position
	Balanced      bool
	DeadLetters   deadLettersView
}

// tile is a number of the summary.
type tile struct {
	Name, Value, Detail string
	Level               string // critical, warning or empty
}

type partitionView struct {
	status.Partition
	State  state
	Age    string // of the watermark; empty: there is none
	Spark  string
	Lag    string // seconds; empty: meaningless
	Owner  string // empty: none
	Reason string
}

type generationView struct {
	status.Generation
	Since    string
	Commands []string
}

type deadLettersView struct {
	Open    int64
	Counted int64 // the reasons are those of the newest ones only, of this many; 0: of all
	Reasons []deadletter.ReasonCount
	Newest  []deadLetterView
}

type deadLetterView struct {
	deadletter.Excerpt
	Stored, Headers, Text string
	Cut                   bool // Text is the beginning of the data
	Commands              []string
}

func newView(now time.Time, stream string, s snapshot, samples []sample) *view {
	v := &view{Stream: stream, Now: now.UTC(), Stale: s.failure != nil, Chart: newChart(now, samples)}
	if s.report != nil {
		v.Read, v.Age = instant(now, s.readAt), span(math.Floor(now.Sub(s.readAt).Seconds()))
		for _, p := range s.report.Partitions {
			v.Partitions = append(v.Partitions, v.partition(p, *s.report, samples))
		}
		v.addGenerations(*s.report)
		v.addMessageCounts(*s.report)
		v.addDeadLetters(s)
		v.addTiles(s)
	}
	v.addIssues(s)
	return v
}

func (v *view) partition(p status.Partition, r status.Report, samples []sample) partitionView {
	row := partitionView{Partition: p, State: isCurrent, Reason: p.StopReason, Spark: v.Chart.spark(v.Now, samples, p.Partition)}
	if p.Owner != nil {
		row.Owner = *p.Owner
	}
	var age time.Duration
	if p.Watermark != nil {
		age = max(r.Time.Sub(*p.Watermark), 0)
		row.Age = span(age.Seconds())
	}
	switch {
	case p.StopReason != "":
		row.State = isStopped
	case p.Owner == nil:
		row.State = noOwner
	case age > behindAfter:
		row.State = isBehind
	}
	if p.StopReason == "" && r.StreamProblem == "" {
		row.Lag = span(p.LagSeconds)
	}
	return row
}

// inState returns the numbers of the partitions in a state.
func (v *view) inState(s state) []int {
	var numbers []int
	for _, p := range v.Partitions {
		if p.State == s {
			numbers = append(numbers, p.Partition.Partition)
		}
	}
	return numbers
}

func (v *view) addGenerations(r status.Report) {
	for _, g := range r.Generations {
		row := generationView{Generation: g, Since: instant(v.Now, g.StartedAt)}
		if g.SwitchedAt != nil {
			row.Since = instant(v.Now, *g.SwitchedAt)
		}
		switch g.State {
		case status.Building:
			row.Commands = []string{"callboard rebuild", "callboard rebuild --abandon"}
		case status.Live:
		default:
			row.Commands = []string{"callboard rollback", "callboard rollback --forget"}
		}
		v.Generations = append(v.Generations, row)
	}
}

func (v *view) addMessageCounts(r status.Report) {
	v.Balanced = r.Balanced
	if r.MessageCounts == nil {
		return
	}
	total := status.Total(r.MessageCounts)
	total.Entity = events.Entity("total")
	v.MessageCounts = append(slices.Clone(r.MessageCounts), total)
}

func (v *view) addDeadLetters(s snapshot) {
	v.DeadLetters = deadLettersView{Open: s.report.DeadLetters}
	for _, r := range s.deadLetters.Reasons[:min(len(s.deadLetters.Reasons), shownReasons)] {
		r.Reason = conceal(deadletter.Legible([]byte(r.Reason)))
		v.DeadLetters.Reasons = append(v.DeadLetters.Reasons, r)
	}
	if s.deadLetters.Counted >= deadletter.MaxCounted {
		v.DeadLetters.Counted = s.deadLetters.Counted
	}
	for _, l := range s.deadLetters.DeadLetters {
		v.DeadLetters.Newest = append(v.DeadLetters.Newest, newDeadLetterView(v.Now, l))
	}
}

func newDeadLetterView(now time.Time, l deadletter.Excerpt) deadLetterView {
	row := deadLetterView{
		Excerpt: l, Stored: instant(now, l.StoredAt), Headers: conceal(headerText(l.Detail)), Text: conceal(deadletter.Legible(l.Data)),
		Cut: l.Size > int64(len(l.Data)),
	}
	row.Subject, row.Reason = conceal(deadletter.Legible([]byte(l.Subject))), conceal(deadletter.Legible([]byte(l.Reason)))
	id := strconv.FormatInt(l.ID, 10)
	row.Commands = []string{"callboard dead-letters show " + id}
	if !l.Audit() {
		row.Commands = append(row.Commands, "callboard dead-letters retry "+id)
	}
	row.Commands = append(row.Commands, "callboard dead-letters drop "+id)
	return row
}

// conceal hides what opens something: a publisher can have sent a key or a signed link. The command line shows the data unchanged.
func conceal(text string) string {
	text = regexp.MustCompile(`sk_phones_\w+`).ReplaceAllString(text, "sk_phones_(hidden)")
	return regexp.MustCompile(`(\w://[^\s"'<>?]*)\?[^\s"'<>]+`).ReplaceAllString(text, "$1?(hidden)")
}

func headerText(l deadletter.Detail) string {
	if l.Header == nil {
		return deadletter.Legible(l.RawHeader)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(l.Header)) {
		for _, value := range l.Header[name] {
			lines = append(lines, name+": "+value)
		}
	}
	return deadletter.Legible([]byte(strings.Join(lines, "\n")))
}

func (v *view) addTiles(s snapshot) {
	r := *s.report
	if s.before != nil {
		r.SetRate(*s.before)
	}
	v.Tiles = []tile{
		v.partitionTile(), v.lagTile(r), v.watermarkTile(r), deadLetterTile(r),
		streamTile(r),
		generationTile(v.Now, r),
	}
}

func (v *view) partitionTile() tile {
	t := tile{Name: "Partitions", Value: number(len(v.Partitions)), Detail: "all current"}
	var parts []string
	for _, s := range []state{isStopped, noOwner, isBehind} {
		if n := len(v.inState(s)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	switch {
	case len(v.Partitions) == 0:
		t.Detail = "the stream has none"
	case len(v.inState(isStopped))+len(v.inState(noOwner)) > 0:
		t.Level, t.Detail = "critical", strings.Join(parts, ", ")
	case len(parts) > 0:
		t.Level, t.Detail = "warning", strings.Join(parts, ", ")
	}
	return t
}

func (v *view) lagTile(r status.Report) tile {
	t := tile{Name: "Not applied", Value: number(r.Lag()), Detail: "events"}
	if r.StreamProblem != "" {
		return tile{Name: t.Name, Value: "unknown", Detail: "the stream was not read", Level: "warning"}
	}
	if len(v.inState(isStopped)) > 0 {
		t.Value = "at least " + t.Value
	}
	if r.Rate != nil {
		t.Detail = fmt.Sprintf("events; %s applied per second", number(int64(math.Round(max(*r.Rate, 0)))))
	}
	if r.ETASeconds != nil {
		t.Detail += ", caught up in " + span(math.Ceil(*r.ETASeconds))
	}
	return t
}

func streamTile(r status.Report) tile {
	t := tile{Name: "In the stream", Value: number(r.Messages), Detail: "events"}
	if r.StreamProblem != "" {
		t.Value, t.Detail = "unknown", "the stream was not read"
	}
	return t
}

// watermarkTile shows the oldest watermark: every phone system is complete through it.
func (v *view) watermarkTile(r status.Report) tile {
	t := tile{Name: "Complete through", Value: "unknown", Detail: "a partition has no watermark"}
	var oldest *time.Time
	for _, p := range r.Partitions {
		if p.Watermark == nil {
			return t
		}
		if oldest == nil || p.Watermark.Before(*oldest) {
			oldest = p.Watermark
		}
	}
	if oldest == nil {
		return t
	}
	age := max(r.Time.Sub(*oldest), 0)
	t.Value, t.Detail = instant(v.Now, *oldest), span(age.Seconds())+" before the report, in UTC"
	if age > behindAfter {
		t.Level = "warning"
	}
	return t
}

func deadLetterTile(r status.Report) tile {
	t := tile{Name: "Dead letters", Value: number(r.DeadLetters), Detail: "open"}
	if r.DeadLettersRetrying > 0 {
		t.Detail += fmt.Sprintf(", %s waiting for a retry", number(r.DeadLettersRetrying))
	}
	if r.DeadLetters > 0 {
		t.Level = "warning"
	}
	return t
}

func generationTile(now time.Time, r status.Report) tile {
	t := tile{Name: "Live generation", Value: "none"}
	building := false
	for _, g := range r.Generations {
		building = building || g.State == status.Building
		if g.State == status.Live {
			t.Value = strconv.FormatInt(g.ID, 10)
			if g.SwitchedAt != nil {
				t.Detail = "since " + instant(now, *g.SwitchedAt)
			}
		}
	}
	if building {
		t.Detail = "a rebuild is under way"
	}
	return t
}
