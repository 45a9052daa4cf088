package main

import (
	"fmt"
	"strconv"
	"time"

	"callboard/projector/webhook/registry"
)

func endpointsLines(endpoints []registry.Endpoint) []string {
	return list(endpoints, "No webhook endpoints. Run 'callboard webhooks add' to add one.",
		"id", "name", "state", "reason", "url", "grant", "waiting", "dead", "lastSuccessAt", "lastFailureAt", "successRate", "p50Ms", "p99Ms")
}

func endpointLines(d registry.Detail) []string {
	lines := append(table(fields(d.Endpoint)), "")
	lines = append(lines, list(d.Secrets, "No secrets.", "id", "createdAt", "expiresAt")...)
	return append(append(lines, ""), list(d.Changes, "No changes.", "at", "by", "command", "after")...)
}

func (r rotated) lines() []string {
	return []string{
		r.Secret, "", "This is the new secret. Save it now: it can't be shown again.",
		fmt.Sprintf("Requests are signed with the old one too until %s.", instant(r.OldExpiresAt)),
	}
}

func (r replayed) lines() []string {
	if r.DryRun {
		return []string{fmt.Sprintf("Events in the range: %d. None is sent.", r.Events)}
	}
	seconds := time.Duration(r.Events) * time.Second / 50
	return []string{fmt.Sprintf("Events that are sent again: %d, over %s.", r.Events, seconds.Round(time.Second))}
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
		text += ": " + printable(shortened(*last.Error))
	}
	return text
}
