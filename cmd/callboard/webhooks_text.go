package main

import (
	"fmt"
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
	type row struct {
		registry.Delivery
		CallSid string            `json:"callSid"`
		Last    *registry.Attempt `json:"lastAttempt"`
	}

	// The table has the last attempt in place of all attempts.
	rows := make([]row, len(deliveries))
	for i, d := range deliveries {
		rows[i] = row{Delivery: d, CallSid: d.Identifiers.CallSid}
		if n := len(d.Attempts); n > 0 {
			rows[i].Last = &d.Attempts[n-1]
		}
	}

	return list(rows, "No deliveries.",
		"delivery", "createdAt", "kind", "callSid", "event", "state", "cause", "lastAttempt", "nextAt")
}
