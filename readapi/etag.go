package readapi

import "strings"

// matches reports whether the values of If-None-Match hold the tag, in the weak comparison that GET asks for. A value that is
// not a list of tags matches as far as it can be read.
func matches(values []string, tag string) bool {
	for _, value := range values {
		if strings.TrimSpace(value) == "*" || listed(value, tag) {
			return true
		}
	}
	return false
}

func listed(list, tag string) bool {
	for {
		list = strings.TrimPrefix(strings.TrimLeft(list, " \t,"), "W/")
		if !strings.HasPrefix(list, `"`) {
			return false
		}
		end := strings.IndexByte(list[1:], '"')
		if end < 0 {
			return false
		}
		if list[:end+2] == tag {
			return true
		}
		list = list[end+2:]
	}
}
