package status

// GitSync is how the search for git data stands that is lacked here (GRASP-02).
type GitSync struct {
	Lacking  int       `json:"lacking"`          // repositories that lack something which events name
	Fetching int       `json:"fetches"`          // from other servers, under way
	Brought  uint64    `json:"completed_events"` // events whose git data came from other servers, since the start
	Bytes    Bytes     `json:"bytes"`            // that came
	Failed   uint64    `json:"failed_fetches"`
	Resting  int       `json:"servers_resting"` // that are left alone for a while, as they fail or ask for it
	Looked   int64     `json:"looked_at"`       // repositories of the look at all of them that is under way, or the last
	ToLook   int64     `json:"to_look_at"`      // in that
	Worst    []GitLack `json:"repositories"`    // the first of those that lack something
}

// GitLack is how one repository stands with other git servers.
type GitLack struct {
	Address Text        `json:"address"`
	Lacks   []GitNeed   `json:"lacks"`   // empty where it is complete
	Servers []GitServer `json:"servers"` // that were asked or are to be
}

// GitNeed is what one event names that is not here.
type GitNeed struct {
	Event   string `json:"event"`
	Objects int    `json:"objects"`
	Tip     bool   `json:"tip"`   // of a pull request
	Waits   bool   `json:"waits"` // the event is not served for that reason
}

// GitServer is how one server answered.
type GitServer struct {
	URL      Text   `json:"url"`
	Fetching bool   `json:"fetching"`
	Asked    Moment `json:"asked"` // last; null for never
	Error    Text   `json:"error"`
	Text     Text   `json:"says"` // how what it advertises differs from what is served here; "" for not at all
}

// State is how the server stands, in words.
func (s GitServer) State() string {
	switch {
	case s.Fetching:
		return "being asked"
	case s.Asked.IsZero():
		return "not asked yet"
	case s.Error != "":
		return string(s.Error)
	case s.Text != "":
		return string(s.Text)
	}
	return "as here"
}
