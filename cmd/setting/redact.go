package setting

import "regexp"

var userInfo = regexp.MustCompile(`://[^@\s]*@`)

// Redact takes what stands between a URL's scheme and its host out of a text, such as a complaint about a command line that
// quotes a misplaced argument.
func Redact(text string) string { return userInfo.ReplaceAllString(text, "://") }
