package status

// SetRate sets the rate since an earlier report, and from it the time until the lag is applied.
func (r *Report) SetRate(before Report) {
	r.Rate, r.ETASeconds = nil, nil
	seconds := r.Time.Sub(before.Time).Seconds()
	if seconds <= 0 {
		return
	}
	perSecond := (r.applied() - before.applied()) / seconds
	r.Rate = &perSecond
	if lag := r.Lag(); lag > 0 && perSecond > 0 {
		eta := float64(lag) / perSecond
		r.ETASeconds = &eta
	}
}

// applied returns the number of messages up to the positions.
func (r *Report) applied() float64 { return float64(r.Messages) - float64(r.Lag()) }
