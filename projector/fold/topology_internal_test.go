package fold

import (
	"testing"

	"callboard/events"
)

// The JSON of a row is the contract's: its members in order, absent values as null, and texts without needless escapes.
func TestTopology_Rendered(t *testing.T) {
	t.Parallel()
	group := &events.CallGroup{Version: 3, Name: "Zoë \"Z\" <\\> \n\u2028", Number: "6", Status: "active", CreatedAt: 1, RingPattern: "all"}
	row := callGroup(group)
	const (
		id     = "00000000-0000-0000-0000-000000000000"
		shared = `{"id":"` + id + `","phoneSystemId":"` + id + `","name":"Zoë \"Z\" <\\> \n` + "\u2028" + `","number":"6","status":"active",` +
			`"createdAt":"1970-01-01T00:00:00.001Z","updatedAt":"1970-01-01T00:00:00.000Z"`
		detail = shared + `,"members":[],"ringPattern":"all","unansweredAction":null,"voicemailGreeting":null}`
	)
	if row.Row != shared+"}" || row.Detail != detail {
		t.Errorf("row = %s\ndetail = %s\nwant %s}\nand %s", row.Row, row.Detail, shared, detail)
	}
	if row.Kind != events.EntityCallGroup || row.Version != 3 {
		t.Errorf("kind = %s, version = %d, want call-group and 3", row.Kind, row.Version)
	}

	config := agentConfig(&events.AgentConfig{AgentNumber: events.Some[int64](9)})
	if config.Row != config.Detail || config.Number != events.Some("9") {
		t.Errorf("agent config: row = %s, detail = %s, number = %v, want equal ones and 9", config.Row, config.Detail, config.Number)
	}
}
