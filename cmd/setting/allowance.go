package setting

import (
	"fmt"
	"strconv"

	"callboard/readapi/limit"
)

// Allowance is how many requests a minute keys may make.
type Allowance = Value[int, allowance]

type allowance struct{}

// Parse implements [Kind].
func (allowance) Parse(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 || n > limit.MaxPerMinute {
		return 0, fmt.Errorf("is not a whole number from 1 to %d", limit.MaxPerMinute)
	}
	return int(n), nil
}
