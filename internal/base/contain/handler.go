package contain

import "net/http"

// Handler returns a handler that serves requests with h. A fault in a request ends the connection. net/http would end it too, but neither
// log nor count the fault.
func (f *Faults) Handler(in string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.Do(in, func() { h.ServeHTTP(w, r) }) {
			panic(http.ErrAbortHandler)
		}
	})
}
