package status

// GitSync is the state of the search for missing git data (GRASP-02).
type GitSync struct {
	Lacking  int       `json:"lacking"`          // repositories that lack git data which events name
	Fetching int       `json:"fetches"`          // from other servers, under way
	Brought  uint64    `json:"completed_events"` // events whose git data came from other servers, since the start
	Bytes    Bytes     `json:"bytes"`            // that came from other servers
	Failed   uint64    `json:"failed_fetches"`
	Resting  int       `json:"servers_resting"` // servers that the relay leaves alone for a while, as they fail or ask for it
	Looked   int64     `json:"looked_at"`       // repositories that the look at all of them has looked at, the one under way or the last
	ToLook   int64     `json:"to_look_at"`      // repositories that it has to look at
	Worst    []GitLack `json:"repositories"`    // the first of the repositories that lack something
}

// GitLack says what one repository lacks, and how other git servers have answered.
type GitLack struct {
	Address Text        `json:"address"`
	Lacks   []GitNeed   `json:"lacks"`   // empty where the repository is complete
	Servers []GitServer `json:"servers"` // servers that the relay has asked or will ask
}

// GitNeed is git data that one event names and that is not here.
type GitNeed struct {
	Event   string `json:"event"`
	Objects int    `json:"objects"`
	Tip     bool   `json:"tip"`   // it is the tip of a pull request
	Waits   bool   `json:"waits"` // the event is not served for that reason
	Pushed  bool   `json:"-"`     // a client brought the event, and will probably push the data
}

// GitServer says how one server answered.
type GitServer struct {
	URL      Text   `json:"url"`
	Fetching bool   `json:"fetching"`
	Asked    Moment `json:"asked"` // when it was asked last; null for never
	Error    Text   `json:"error"`
	Text     Text   `json:"says"` // how the refs that it advertises differ from those that are served here; "" for not at all
}

// State describes the state of the server in words.
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
