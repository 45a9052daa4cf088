package main

import (
	"fmt"
	"time"

	"callboard/readapi/access"
)

func (k issuedKey) lines() []string {
	lines := []string{k.Key, "", "This is the key. Save it now: it can't be shown again.", ""}
	return append(lines, table(fields(k.Record))...)
}

// coversNothing warns of a grant whose id can be wrong. The key is issued all the same: its events may be on their way.
func coversNothing(grant access.Grant) string {
	what := "phone system " + grant.ID.String()
	if grant.Kind != access.GrantSystem {
		what = fmt.Sprintf("a phone system of %s %s", grant.Kind, grant.ID)
	}
	return fmt.Sprintf("warning: no event has named %s. Until one does, the key reads nothing: check the id", what)
}

func (k rolledKey) lines() []string { return append(k.issuedKey.lines(), "", k.oldKey()) }

// oldKey tells how long the old key is valid.
func (k rolledKey) oldKey() string {
	end := "has expired"
	if k.Old.State == access.StateActive {
		end = "is valid until " + instant(*k.Old.ExpiresAt)
	}
	return fmt.Sprintf("The old key, %s, %s.", k.Old.ID, end)
}

func keysLines(keys []access.Record) []string {
	return list(keys, "No keys. Run 'callboard keys issue' to issue one.",
		"id", "name", "state", "grant", "scopes", "createdAt", "lastUsedAt", "lastUsedAddress")
}

// keyWithLineageLines are the key and a table of its lineage. A lineage of one key has no table.
func keyWithLineageLines(key access.KeyWithLineage) []string {
	lines := table(fields(key.Record))
	if len(key.LineageKeys) == 1 {
		return lines
	}
	lines = append(lines, "", "The keys of this lineage, the newest first. They share one budget.", "")
	return append(lines,
		list(key.LineageKeys, "", "id", "state", "createdAt", "expiresAt", "lastUsedAt", "lastUsedAddress")...)
}

// revokedLines also name the keys of the lineage that are still valid, since a customer can go on with them.
func revokedLines(key access.KeyWithLineage) []string {
	lines := []string{fmt.Sprintf("Key %s %q is revoked.", key.ID, key.Name)}
	for _, k := range key.LineageKeys {
		if k.State == access.StateActive {
			lines = append(lines, fmt.Sprintf("Key %s of the same lineage is still active.", k.ID))
		}
	}
	return lines
}

func auditLines(since time.Time, key access.Record, entries []access.AuditEntry) []string {
	none := fmt.Sprintf("No requests since %s. Last used: %s.", instant(since), instantOr(key.LastUsedAt, "never"))
	return list(entries, none, "at", "status", "code", "operation", "phoneSystemId", "address", "addresses", "count",
		"requestId", "lastRequestId", "lastAt")
}
