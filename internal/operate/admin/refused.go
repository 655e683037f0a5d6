package admin

import (
	"net/http"

	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/status"
)

// Refusals is the document /refused.json: the last events that this relay did not take, the newest first.
type Refusals struct {
	Refused []status.Refused `json:"refused"`
}

func (c Config) refused(w http.ResponseWriter, _ *http.Request) {
	list := c.Door.LastRefused()
	for i := range list {
		if s, err := moderation.ParseAuthor(list[i].Author); err == nil {
			list[i].Called = c.title(s)
		}
	}
	answerJSON(w, Refusals{list})
}
