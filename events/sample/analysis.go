package sample

import "callboard/events"

func (l *leg) publishAnalysis(at events.Time, status string) events.Event {
	l.analysis.Version++
	state := l.analysis
	state.Status = status
	return publish(events.Changed(&state), at)
}

func (l *leg) awaitAnalysis(at events.Time) events.Event { return l.publishAnalysis(at, "pending") }

func (l *leg) beginAnalysis(at events.Time) events.Event { return l.publishAnalysis(at, "processing") }

func (l *leg) failAnalysis(at events.Time) events.Event { return l.publishAnalysis(at, "failed") }

func (l *leg) completeAnalysis(at events.Time) events.Event {
	a, d := &l.analysis, &l.dice
	low, high := 55, 98
	if l.topic.mood == bad {
		low, high = 25, 85
	}
	a.OverallScore, a.AnalyzedAt = events.Some(int64(d.between(low, high))), events.Some(at)
	a.Category = present(l.topic.category)
	l.feel()
	a.SentimentSource = events.Some("model")
	if d.chance(400) {
		a.ScorecardScore = events.Some(float64(d.between(low*2, high*2)) / 2)
	}
	tips := l.sys.trade.lists["tip"]
	for range d.weighted(40, 30, 20, 10) {
		a.CoachingTips = append(a.CoachingTips, pick(d, tips))
	}
	a.Representative = l.attribute()
	return l.publishAnalysis(at, events.AnalysisCompleted)
}

// feel sets the three sentiments. A topic's mood rubs off on most calls about it, not on all.
func (l *leg) feel() {
	m := l.topic.mood
	if l.dice.chance(250) {
		m = mood(l.dice.below(3))
	}
	codes := map[mood][3][]string{
		plain: {{"neutral", "neutral", "positive"}, {"neutral", "helpful"}, {"neutral", "satisfied"}},
		good:  {{"positive"}, {"helpful"}, {"satisfied", "delighted"}},
		bad:   {{"negative", "mixed"}, {"helpful", "neutral", "impatient"}, {"frustrated", "frustrated", "angry"}},
	}[m]
	a := &l.analysis
	a.OverallSentiment = l.sentiment(overall, pick(&l.dice, codes[0]))
	a.EmployeeSentiment = l.sentiment(employee, pick(&l.dice, codes[1]))
	a.CustomerSentiment = l.sentiment(customer, pick(&l.dice, codes[2]))
}

// sentiment is a code with a score near the one it is defined with.
func (l *leg) sentiment(kind, code string) *events.Sentiment {
	for _, s := range sentiments() {
		if s.kind == kind && s.code == code {
			return &events.Sentiment{Code: code, Score: l.dice.hundredths(max(s.score-15, -100), min(s.score+15, 100))}
		}
	}
	return &events.Sentiment{Code: code}
}

// attribute is who handled the call: the representative of the extension, unless the voice matched nobody.
func (l *leg) attribute() *events.RepresentativeRole {
	switch {
	case l.dice.chance(30):
		return &events.RepresentativeRole{State: "not_analyzed"}
	case l.handler == nil || l.dice.chance(80):
		return &events.RepresentativeRole{State: "unknown", Confidence: l.dice.hundredths(5, 45), Source: events.Some("voice")}
	}
	return &events.RepresentativeRole{
		State: "identified", ID: events.Some(l.handler.ID), Confidence: l.dice.hundredths(70, 99),
		Source: events.Some(pick(&l.dice, []string{"extension", "voice"})),
	}
}
