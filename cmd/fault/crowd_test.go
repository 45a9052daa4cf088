package fault_test

import "context"

// crowd are clients that ask both readers without a pause and put up with nothing.
type crowd struct {
	*clients
	watches []*watch
}

// gather lets a crowd ask: for each phone system one that follows its reports, and for each reader one that turns the pages of lists
// and one that watches details.
func (s *stage) gather() *crowd {
	s.tb.Helper()
	ctx, cancel := context.WithCancel(s.tb.Context())
	c := &crowd{clients: newClients(s)}
	c.strict = true
	for _, system := range s.feed.systems() {
		c.follow(ctx, system)
	}
	for _, r := range s.readers {
		b, w := newBrowser(c.clients, r), newWatch(c.clients, r)
		c.watches = append(c.watches, w)
		c.all.Go(func() { b.run(ctx) })
		c.all.Go(func() { w.run(ctx) })
	}
	s.tb.Cleanup(func() {
		cancel()
		c.all.Wait()
	})
	return c
}

// disperse lets the crowd come to the end of what has happened, and hears its complaints.
func (c *crowd) disperse() {
	s := c.stage
	s.tb.Helper()
	c.leave()
	same, all := 0, 0
	for _, w := range c.watches {
		all += len(w.details)
		same += w.examine(s.tb.Context())
	}
	if same == 0 {
		s.tb.Error("every detail has changed, so nothing is known of those that haven't")
	}
	s.figures.total("%d of %d details were watched without a change", same, all)
}
