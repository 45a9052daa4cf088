package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"callboard/readapi/access"
)

func (k issuedKey) lines() []string {
	return append([]string{k.Key, "", "This is the key. Save it now: it can't be shown again.", ""}, keyLines(k.Record)...)
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
	if len(keys) == 0 {
		return []string{"No keys. Run 'callboard keys issue' to issue one."}
	}
	rows := [][]string{{"ID", "NAME", "STATE", "GRANT", "SCOPES", "CREATED", "LAST USED"}}
	for _, k := range keys {
		rows = append(rows, []string{
			k.ID.String(), printable(k.Name), string(k.State), grantText(k.Grant), scopesText(k.Scopes), instant(k.CreatedAt),
			instantOr(k.LastUsedAt, "never"),
		})
	}
	return table(rows)
}

func keyLines(k access.Record) []string {
	rows := [][]string{
		{"id", k.ID.String()},
		{"name", printable(k.Name)},
		{"state", string(k.State)},
		{"key", access.KeyPrefix + k.Short + "_..."},
		{"pepper", k.Pepper},
		{"grant", grantText(k.Grant)},
		{"scopes", scopesText(k.Scopes)},
		{"tier", string(k.Tier)},
		{"created", instant(k.CreatedAt)},
		{"last used", lastUseText(k)},
	}

	// Limits that not every key has.
	if k.OwnExtension.Valid {
		rows = append(rows, []string{"own calls of", "extension " + k.OwnExtension.UUID.String()})
	}
	if len(k.Networks) > 0 {
		networks := make([]string, len(k.Networks))
		for i, network := range k.Networks {
			networks[i] = network.String()
		}
		rows = append(rows, []string{"allowed from", strings.Join(networks, ",")})
	}
	if k.ExpiresAt != nil {
		rows = append(rows, []string{"expires", instant(*k.ExpiresAt)})
	}
	if k.RevokedAt != nil {
		rows = append(rows, []string{"revoked", instant(*k.RevokedAt)})
	}
	return table(rows)
}

// keyWithLineageLines mark the key in the table of its lineage. A lineage of one key has no table.
func keyWithLineageLines(key access.KeyWithLineage) []string {
	lines := keyLines(key.Record)
	if len(key.LineageKeys) == 1 {
		return lines
	}
	lines = append(lines, "", "The keys of this lineage, the newest first. They share one budget.", "")
	rows := [][]string{{"", "ID", "STATE", "CREATED", "EXPIRES", "LAST USED"}}
	for _, k := range key.LineageKeys {
		mark := ""
		if k.ID == key.ID {
			mark = "*"
		}
		rows = append(rows, []string{
			mark, k.ID.String(), string(k.State), instant(k.CreatedAt), instantOr(k.ExpiresAt, "never"), lastUseText(k),
		})
	}
	return append(lines, table(rows)...)
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
	if len(entries) == 0 {
		return []string{fmt.Sprintf("No requests since %s. Last used: %s.", instant(since), lastUseText(key))}
	}
	rows := [][]string{{"TIME", "STATUS", "CODE", "OPERATION", "PHONE SYSTEM", "ADDRESS", "COUNT", "REQUEST ID"}}
	for _, e := range entries {
		rows = append(rows, auditRow(e))
	}
	return table(rows)
}

func auditRow(e access.AuditEntry) []string {
	code, operation, system, address := "-", "-", "-", "-"
	if e.Code != nil {
		code = printable(*e.Code)
	}
	if e.Operation != "" {
		operation = printable(e.Operation)
	}
	if e.System.Valid {
		system = e.System.UUID.String()
	}
	if e.Address != nil {
		address = e.Address.String()
	}

	// An entry can stand for requests of several addresses, and for several requests.
	if e.Addresses > 1 {
		address += fmt.Sprintf(" and %s others", grouped(int64(e.Addresses-1)))
	}
	count, request := "-", printable(e.RequestID)
	if e.Count > 1 {
		count = "x " + grouped(e.Count)
		request += " to " + printable(e.LastRequestID) + " until " + milliInstant(e.LastAt)
	}
	return []string{milliInstant(e.At), strconv.Itoa(e.Status), code, operation, system, address, count, request}
}

// grouped writes a number that is not negative with a comma after each group of three digits.
func grouped(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return grouped(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

func grantText(g access.Grant) string { return string(g.Kind) + " " + g.ID.String() }

func lastUseText(k access.Record) string {
	if k.LastUsedAt == nil || k.LastUsedAddress == nil {
		return instantOr(k.LastUsedAt, "never")
	}
	return instant(*k.LastUsedAt) + " from " + k.LastUsedAddress.String()
}

func scopesText(list []access.Scope) string {
	if len(list) == len(access.Scopes()) {
		return "all"
	}
	return joinNames(list, ",")
}
