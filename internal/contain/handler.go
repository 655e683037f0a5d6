package contain

import "net/http"

// Handler serves requests with h. A fault in one ends its connection; net/http would do the same and say nothing of it.
func (f *Faults) Handler(in string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.Do(in, func() { h.ServeHTTP(w, r) }) {
			panic(http.ErrAbortHandler)
		}
	})
}
