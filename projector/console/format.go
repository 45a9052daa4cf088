package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// number returns a whole number in groups of three digits.
func number[T int64 | uint64](n T) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// span returns seconds in the unit in which people say them.
func span(seconds float64) string {
	switch {
	case seconds < 10:
		return strconv.FormatFloat(math.Round(seconds*10)/10, 'f', -1, 64) + " s"
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 2*3600:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%.0f h", seconds/3600)
	}
	return fmt.Sprintf("%.0f days", seconds/86400)
}

// instant returns a time of the last day as a time of day, and any other with its date. Times are in UTC.
func instant(now, t time.Time) string {
	if age := now.Sub(t); age > -12*time.Hour && age < 12*time.Hour {
		return t.UTC().Format("15:04:05")
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// list returns numbers with commas between them.
func list(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}
