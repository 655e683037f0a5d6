package admin

import (
	"context"
	"net/http"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// retry has the engine connect at once to the relay in the form field url.
func (p *Pages) retry(w http.ResponseWriter, r *http.Request) {
	u, err := grasp.NormalizeRelay(r.FormValue("url"))
	switch {
	case err != nil:
		answer(w, http.StatusBadRequest, "url: "+err.Error())
		return
	case p.c.Sync == nil:
		answer(w, http.StatusConflict, "this relay does not sync (--sync=false)")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if err := p.c.Sync.Retry(ctx, u); err != nil {
		answer(w, http.StatusConflict, err.Error())
		return
	}
	if r.FormValue("back") != "" { // the form of the page, without script
		w.Header().Set("Location", pageRefOf(relayPage, string(u)).String()) // relative, as the pages may stand anywhere
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	answer(w, http.StatusOK, "trying "+string(u))
}
