package front

import (
	"fmt"
	"net/http"
)

// AddressPath is the path at which a client learns for which address the front takes it. So operators see whether their proxy passes
// addresses on.
const AddressPath = "/.well-known/graspd/address"

// AddressRoute returns the route that answers, below a base path, with the address whose limits hold for the client.
func AddressRoute(base string) Route {
	return Route{
		Name: "address", Door: Open,
		Takes: func(r *http.Request) bool { return r.URL.Path == base+AddressPath },
		Serve: func(w http.ResponseWriter, r *http.Request, c Client) {
			if r.Method != http.MethodGet && r.Method != http.MethodHead {
				w.Header().Set("Allow", "GET, HEAD, OPTIONS")
				http.Error(w, "only GET", http.StatusMethodNotAllowed)
				return
			}
			if c.Visitor != nil && c.Visitor.Admit() > 0 {
				http.Error(w, "too many requests", http.StatusTooManyRequests)
				return
			}
			h := w.Header()
			h.Set("Content-Type", "text/plain; charset=utf-8")
			h.Set("Cache-Control", "no-store")
			if c.Addr.IsValid() {
				fmt.Fprintln(w, c.Addr)
			}
		},
	}
}
