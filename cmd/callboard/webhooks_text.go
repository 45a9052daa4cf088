package main

import (
	"fmt"
	"strconv"
	"time"

	"callboard/events/webhook"
	"callboard/projector/webhook/registry"
)

func kindsText(kinds []webhook.Kind) string {
	if len(kinds) == len(webhook.Kinds()) {
		return "all"
	}
	return joinNames(kinds, ", ")
}

func targetText(t registry.Target) string { return string(t.Kind) + " " + t.ID.String() }

// endpointStateText is the state, with why it is so.
func endpointStateText(e registry.Endpoint, now time.Time) string {
	switch {
	case e.Interrupted(now):
		return "adding (interrupted: remove it)"
	case e.Reason != nil && *e.Reason == "gone":
		return string(e.State) + " (answered 410)"
	case e.Reason != nil:
		return string(e.State) + " (" + *e.Reason + ")"
	}
	return string(e.State)
}

func rateText(rate *float64) string {
	if rate == nil {
		return "-"
	}
	return strconv.FormatFloat(*rate*100, 'f', 1, 64) + " %"
}

func timesText(e registry.Endpoint) string {
	if e.P50 == nil || e.P99 == nil {
		return "-"
	}
	return fmt.Sprintf("%d / %d ms", *e.P50, *e.P99)
}

func endpointsLines(endpoints []registry.Endpoint) []string {
	if len(endpoints) == 0 {
		return []string{"No webhook endpoints. Run 'callboard webhooks add' to add one."}
	}
	rows := [][]string{{"ID", "NAME", "STATE", "URL", "TARGET", "WAITING", "DEAD", "LAST SUCCESS", "LAST FAILURE", "SUCCESS 24 H", "P50 / P99"}}
	for _, e := range endpoints {
		rows = append(rows, []string{
			e.ID.String(), printable(e.Name), endpointStateText(e, time.Now()), printable(e.URL), targetText(e.Target),
			grouped(e.Waiting), grouped(e.Dead), instantOr(e.LastSuccessAt, "never"), instantOr(e.LastFailureAt, "never"),
			rateText(e.SuccessRate), timesText(e),
		})
	}
	return table(rows)
}

func endpointLines(d registry.Detail) []string {
	rows := [][]string{
		{"id", d.ID.String()},
		{"name", printable(d.Name)},
		{"url", printable(d.URL)},
		{"state", endpointStateText(d.Endpoint, time.Now())},
		{"target", targetText(d.Target)},
		{"kinds", kindsText(d.Kinds)},
		{"concurrency", strconv.Itoa(d.Concurrency)},
		{"waiting", grouped(d.Waiting)},
		{"dead", grouped(d.Dead)},
		{"last success", instantOr(d.LastSuccessAt, "never")},
		{"last failure", instantOr(d.LastFailureAt, "never")},
		{"success in 24 h", rateText(d.SuccessRate)},
		{"p50 / p99", timesText(d.Endpoint)},
		{"created", instant(d.CreatedAt)},
	}
	for _, s := range d.Secrets {
		rows = append(rows, []string{"secret", s.ID.String() + ", created " + instant(s.CreatedAt) + ", expires " + instantOr(s.ExpiresAt, "never")})
	}
	lines := table(rows)
	if len(d.Changes) == 0 {
		return lines
	}
	rows = [][]string{{"TIME", "BY", "COMMAND", "AFTER"}}
	for _, change := range d.Changes {
		rows = append(rows, []string{instant(change.At), printable(change.By), change.Command, printable(string(change.After))})
	}
	return append(append(lines, "", "The newest changes:", ""), table(rows)...)
}

func (r rotated) lines() []string {
	return []string{
		r.Secret, "", "This is the new secret. Save it now: it can't be shown again.",
		fmt.Sprintf("Requests are signed with the old one too until %s.", instant(r.OldExpiresAt)),
	}
}

func (r replayed) lines() []string {
	if r.DryRun {
		return []string{fmt.Sprintf("Events in the range: %s. None is sent.", grouped(r.Events))}
	}
	seconds := time.Duration(r.Events) * time.Second / 50
	return []string{fmt.Sprintf("Events that are sent again: %s, over %s.", grouped(r.Events), seconds.Round(time.Second))}
}

func deliveriesLines(deliveries []registry.Delivery) []string {
	if len(deliveries) == 0 {
		return []string{"No deliveries."}
	}
	rows := [][]string{{"DELIVERY", "CREATED", "KIND", "CALL", "EVENT", "STATE", "CAUSE", "ATTEMPTS", "LAST OUTCOME", "NEXT"}}
	for _, d := range deliveries {
		rows = append(rows, []string{
			strconv.FormatInt(d.ID, 10), instant(d.CreatedAt), string(d.Kind), printable(d.Identifiers.CallSid), d.Event, string(d.State), d.Cause,
			strconv.Itoa(len(d.Attempts)), outcomeText(d.Attempts), instantOr(d.NextAt, "-"),
		})
	}
	return table(rows)
}

// outcomeText is the outcome of the last attempt.
func outcomeText(attempts []registry.Attempt) string {
	if len(attempts) == 0 {
		return "-"
	}
	last := attempts[len(attempts)-1]
	text := fmt.Sprintf("after %d ms", last.MS)
	if last.Status != nil {
		text = fmt.Sprintf("%d %s", *last.Status, text)
	}
	if last.Error != nil {
		text += ": " + shortReason(*last.Error)
	}
	return text
}
