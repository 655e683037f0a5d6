package publicnet

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds the wait that a server can ask for.
const maxRetryAfter = 24 * time.Hour

// RetryAfter reads a Retry-After header in either form (RFC 9110, 10.2.3). It returns at most a day, and 0 where the header says nothing.
func RetryAfter(v string) time.Duration {
	v = strings.TrimSpace(v)
	if t, err := http.ParseTime(v); err == nil {
		return min(max(time.Until(t), 0), maxRetryAfter)
	}
	n, err := strconv.ParseUint(v, 10, 32)
	if err != nil {
		return 0
	}
	return min(time.Duration(n)*time.Second, maxRetryAfter)
}
