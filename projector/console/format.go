package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// number returns a whole number in groups of three digits.
func number[T ~int | ~int64 | ~uint64](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, groups...), ",")
}

// span returns seconds in the unit in which people say them.
func span(seconds float64) string {
	switch {
	case seconds < 10:
		return strconv.FormatFloat(math.Round(seconds*10)/10, 'f', -1, 64) + " s"
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 600:
		return strconv.FormatFloat(math.Round(seconds/6)/10, 'f', -1, 64) + " min"
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

// plural returns a number with its noun.
func plural[T ~int | ~int64 | ~uint64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// numberList returns sorted numbers with ranges, such as "0-3, 7". The separator stands between them.
func numberList(numbers []int, separator string) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		switch j {
		case i:
			parts = append(parts, strconv.Itoa(numbers[i]))
		case i + 1:
			parts = append(parts, strconv.Itoa(numbers[i]), strconv.Itoa(numbers[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, separator)
}
