package peer

// Class says what a request is for; events carry it as their source.
type Class uint8

// The classes of requests.
const (
	Live    Class = iota
	Catchup       // stored events after a start, a reconnect or for new items
	Daily         // stored events of the full resync
)

// String is the name of the source in metrics.
func (c Class) String() string { return [...]string{"live", "catchup", "daily"}[c] }

// Level is the weight of a Report.
type Level int8

// The levels, as log/slog counts them.
const (
	LevelDebug Level = -4
	LevelInfo  Level = 0
	LevelWarn  Level = 4
	LevelError Level = 8
)
