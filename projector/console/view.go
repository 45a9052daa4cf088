package console

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"callboard/projector/deadletter"
	"callboard/projector/status"
)

// behindAfter is the watermark's age from which a partition counts as behind: the first level of the alert
// ProjectionBehind.
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
	report

	Stream     string
	Now        time.Time
	Issues     []issue
	MoreIssues int // that are left out
	Chart      chart
}

// report is what a snapshot shows.
type report struct {
	Read            string // when it was read; empty: there is none
	Age             string
	Stale           bool // a later one could not be read
	Partitions      []partitionView
	Generations     []generationView
	OpenDeadLetters int64
	DeadLetters     []deadLetterView // the newest
}

type partitionView struct {
	status.Partition
	State state
	Age   string // of the watermark; empty: there is none
	Lag   string // seconds; empty: meaningless
	Owner string // empty: none
}

type generationView struct {
	status.Generation
	Since    string
	Commands []string
}

type deadLetterView struct {
	deadletter.DeadLetter
	Stored, Advice string
	Commands       []string
}

// newView returns the page of a snapshot and the lag of the last hour.
func newView(now time.Time, stream string, s snapshot, samples []sample) *view {
	v := &view{Stream: stream, Now: now.UTC(), Chart: newChart(now, samples)}
	v.Stale = s.failure != ""

	if r := s.report; r != nil {
		v.Read, v.Age = instant(now, s.readAt), span(math.Floor(now.Sub(s.readAt).Seconds()))

		for _, p := range r.Partitions {
			v.Partitions = append(v.Partitions, newPartitionView(p, *r))
		}
		for _, g := range r.Generations {
			v.Generations = append(v.Generations, newGenerationView(now, g))
		}

		v.OpenDeadLetters = r.DeadLetters
		for _, l := range s.deadLetters {
			v.DeadLetters = append(v.DeadLetters, newDeadLetterView(now, l))
		}
	}

	// The issues follow from the partitions, so they are found last.
	v.Issues = v.issues(s)
	if len(v.Issues) > maxIssues {
		v.MoreIssues = len(v.Issues) - maxIssues
		v.Issues = v.Issues[:maxIssues]
	}
	return v
}

func newPartitionView(p status.Partition, r status.Report) partitionView {
	row := partitionView{Partition: p, State: isCurrent}
	if p.Owner != nil {
		row.Owner = *p.Owner
	}

	var age time.Duration
	if p.Watermark != nil {
		age = max(r.Time.Sub(*p.Watermark), 0)
		row.Age = span(age.Seconds())
	}

	// The cause comes before its effect: a stopped partition is behind, too.
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

func newGenerationView(now time.Time, g status.Generation) generationView {
	row := generationView{Generation: g, Since: instant(now, g.StartedAt)}
	if g.SwitchedAt != nil {
		row.Since = instant(now, *g.SwitchedAt)
	}

	switch g.State {
	case status.Building:
		row.Commands = []string{"callboard rebuild", "callboard rebuild --abandon"}
	case status.Live:
	default:
		row.Commands = []string{"callboard rollback", "callboard rollback --forget"}
	}

	return row
}

func newDeadLetterView(now time.Time, l deadletter.DeadLetter) deadLetterView {
	row := deadLetterView{DeadLetter: l, Stored: instant(now, l.StoredAt), Advice: deadletter.Advice(l)}
	row.Subject, row.Reason = conceal(l.Subject), conceal(l.Reason)
	id := strconv.FormatInt(l.ID, 10)
	row.Commands = []string{"callboard dead-letters show " + id}
	if !l.Audit() {
		row.Commands = append(row.Commands, "callboard dead-letters retry "+id)
	}
	return row
}

// conceal returns a text of a publisher as it is safe to show, without keys and signed links, which a publisher can
// have sent. The command line shows it unchanged.
func conceal(text string) string {
	text = deadletter.Legible([]byte(text))
	text = regexp.MustCompile(`sk_phones_\w+`).ReplaceAllString(text, "sk_phones_(hidden)")
	return regexp.MustCompile(`(\w://[^\s"'<>?]*)\?[^\s"'<>]+`).ReplaceAllString(text, "$1?(hidden)")
}

// issue is something that an operator should look at.
type issue struct {
	Critical bool
	Text     []segment
	Runbook  string // a file in the repository; empty: none
}

// segment is a part of a text: prose, or a command that stands in it between quotation marks.
type segment struct {
	Text    string
	Command bool
}

// maxIssues limits the issues, since every partition can have several.
const maxIssues = 24

// issues returns what is wrong: with the report, with what it says, and with the state of partitions.
func (v *view) issues(s snapshot) []issue {
	var all []issue
	add := func(critical bool, runbook, text string) {
		all = append(all, issue{critical, segments(strings.ToUpper(text[:1]) + text[1:]), runbook})
	}

	if s.failure != "" {
		add(true, "", "the report could not be read: "+s.failure+". Check that PostgreSQL runs, and CALLBOARD_POSTGRES_URL. "+
			"If a table is missing, run 'callboard migrate'.")
	}

	// Without any report, nothing else is known.
	if s.report == nil {
		return all
	}

	for _, problem := range s.report.Problems() {
		runbook := ""
		if strings.Contains(problem, " is stopped: ") {
			runbook = "deploy/runbooks.md#partitionstopped"
		}
		add(true, runbook, problem+".")
	}

	// Where no partition has an owner, one sentence replaces the list.
	switch unowned := v.inState(noOwner); {
	case len(unowned) == 0:
	case len(unowned) == len(v.Partitions):
		add(true, "", "no projector owns a partition: start one with 'projector'.")
	default:
		add(true, "", fmt.Sprintf("no projector owns the partitions %[1]s: "+
			"start one with 'CALLBOARD_PARTITIONS=%[1]s projector'.", list(unowned)))
	}

	if behind := v.inState(isBehind); len(behind) > 0 {
		add(false, "", fmt.Sprintf("the watermark of the partitions %s is more than %s behind. "+
			"'callboard status --watch' shows the rate, and when the lag will be "+
			"applied.", list(behind), span(behindAfter.Seconds())))
	}

	if n := s.report.DeadLetters; n > 0 {
		add(false, "deploy/runbooks.md#deadletters",
			"messages that could not be applied: "+number(n)+". The list below says why, and what helps.")
	}

	return all
}

// inState returns the numbers of the partitions in a state.
func (v *view) inState(s state) (numbers []int) {
	for _, p := range v.Partitions {
		if p.State == s {
			numbers = append(numbers, p.Partition.Partition)
		}
	}
	return numbers
}

// segments finds the commands in a text: they stand between single quotation marks.
func segments(text string) (list []segment) {
	command := regexp.MustCompile(`'((?:callboard |nats |projector|CALLBOARD_)[^']*)'`)
	end := 0
	for _, match := range command.FindAllStringSubmatchIndex(text, -1) {
		list = append(list, segment{Text: text[end:match[0]]}, segment{text[match[2]:match[3]], true})
		end = match[1]
	}
	return append(list, segment{Text: text[end:]})
}
