package setting

import (
	"fmt"
	"strconv"
)

// Days is how long something is kept.
type Days = Value[int, days]

type days struct{}

// maxDays is about a century, and keeps a slip of the hand from reaching before the calendar.
const maxDays = 36500

// Parse implements [Kind].
func (days) Parse(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || n > maxDays {
		return 0, fmt.Errorf("is not a number of days from 1 to %d", maxDays)
	}
	return int(n), nil
}
