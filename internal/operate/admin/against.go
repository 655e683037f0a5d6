package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// compareTime bounds one comparison with another relay.
const compareTime = 30 * time.Minute

// against compares this relay with the one in the form field url, one comparison at a time.
func (p *Pages) against(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	u, err := grasp.NormalizeRelay(r.FormValue("url"))
	if err != nil {
		answer(w, http.StatusBadRequest, "url: "+err.Error())
		return
	}
	select {
	case p.comparing <- struct{}{}:
		defer func() { <-p.comparing }()
	default:
		answer(w, http.StatusConflict, "another comparison is under way")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), compareTime)
	defer cancel()
	report, err := p.c.Node.Against(ctx, u)
	if err != nil {
		answer(w, http.StatusBadGateway, err.Error())
		return
	}
	answerJSON(w, report)
}
