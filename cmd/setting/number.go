package setting

import (
	"errors"
	"strconv"
)

// Count is a whole number from 1 up.
type Count = Value[int, count]

type count struct{}

// Parse implements [Kind].
func (count) Parse(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return 0, errors.New("is not a whole number from 1 up")
	}
	return int(n), nil
}
