package sample

import (
	"strings"

	"callboard/events"
)

// The kinds of sentiment.
const (
	overall  = "overall_sentiment"
	employee = "employee_sentiment"
	customer = "customer_sentiment"
)

// sentiment is a code with what it is called and what it counts, in hundredths from -100 to 100.
type sentiment struct {
	kind, code, label string
	score             int
}

func sentiments() []sentiment {
	return []sentiment{
		{overall, "positive", "Positive", 100}, {overall, "neutral", "Neutral", 0},
		{overall, "mixed", "Mixed", -20}, {overall, "negative", "Negative", -100},
		{employee, "helpful", "Helpful", 100}, {employee, "neutral", "Neutral", 0}, {employee, "impatient", "Impatient", -60},
		{customer, "delighted", "Delighted", 100}, {customer, "satisfied", "Satisfied", 60}, {customer, "neutral", "Neutral", 0},
		{customer, "frustrated", "Frustrated", -60}, {customer, "angry", "Angry", -100},
	}
}

// undefined are categories that calls have and nobody ever announced: readers fall back to a label made from the code.
func undefined() []string { return []string{"sales", "farewell", "unclear", "job_application"} }

// definitions are the global classifications: all sentiments, and the categories of all trades.
func (l *library) definitions(at events.Time) []*events.Classification {
	var all []*events.Classification
	for _, s := range sentiments() {
		all = append(all, &events.Classification{
			Version: 1, Kind: s.kind, Code: s.code, Label: s.label, Status: "active",
			Score: events.Some(float64(s.score) / 100), UpdatedAt: at,
		})
	}
	seen := map[string]bool{"": true}
	for _, code := range undefined() {
		seen[code] = true
	}
	for _, t := range l.trades {
		for _, code := range t.categories() {
			if !seen[code] {
				seen[code] = true
				all = append(all, category(code, label(code), at))
			}
		}
	}
	return all
}

// categories are the codes of a trade's topics, in the scripts' order.
func (t *trade) categories() []string {
	var codes []string
	for _, kind := range []string{"inbound", "outbound", "internal", "brief", "message"} {
		for _, topic := range t.topics[kind] {
			codes = append(codes, topic.category)
		}
	}
	return codes
}

func category(code, label string, at events.Time) *events.Classification {
	return &events.Classification{Version: 1, Kind: events.KindCategory, Code: code, Label: label, Status: "active", UpdatedAt: at}
}

// label makes "Follow up" of "follow_up".
func label(code string) string {
	return strings.ToUpper(code[:1]) + strings.ReplaceAll(code[1:], "_", " ")
}

// overrideClasses gives some businesses words of their own.
func (s *system) overrideClasses(d *dice) {
	if d.chance(300) {
		return
	}
	at := s.born + 45*day
	s.classes = append(s.classes, category("information", "Just a question", at), category("complaint", "Escalation", at))
	if d.chance(500) {
		s.classes = append(s.classes, &events.Classification{
			Kind: overall, Code: "negative", Label: "Needs attention", Score: events.Some(-1.0), Version: 1, Status: "active", UpdatedAt: at,
		})
	}
	for _, class := range s.classes {
		class.PhoneSystemID = events.Some(s.id)
	}
}
