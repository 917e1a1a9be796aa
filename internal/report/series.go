package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"shedload/internal/ledger"
)

// column is one column of a time series: what it is called, and how a row has it.
// Exactly one of count and span is set.
type column struct {
	name  string
	count func(r *ledger.Row) *int64
	span  func(r *ledger.Row) *time.Duration // written in seconds
}

// columns are those of timeseries-VARIANT.csv, after t_s.
var columns = []column{
	{"offered", func(r *ledger.Row) *int64 { return &r.Offered }, nil},
	{"requests", func(r *ledger.Row) *int64 { return &r.Requests }, nil},
	{"throughput", func(r *ledger.Row) *int64 { return &r.Throughput }, nil},
	{"goodput", func(r *ledger.Row) *int64 { return &r.Goodput }, nil},
	{"goodput_client", func(r *ledger.Row) *int64 { return &r.GoodputClient }, nil},
	{"late", func(r *ledger.Row) *int64 { return &r.Late }, nil},
	{"refused", func(r *ledger.Row) *int64 { return &r.Refused }, nil},
	{"dropped", func(r *ledger.Row) *int64 { return &r.Dropped }, nil},
	{"queue", func(r *ledger.Row) *int64 { return &r.Queue }, nil},
	{"oldest_age_s", nil, func(r *ledger.Row) *time.Duration { return &r.OldestAge }},
	{"in_service", func(r *ledger.Row) *int64 { return &r.InService }, nil},
	{"busy", func(r *ledger.Row) *int64 { return &r.Busy }, nil},
	{"arrived", func(r *ledger.Row) *int64 { return &r.Arrived }, nil},
	{"first", func(r *ledger.Row) *int64 { return &r.First }, nil},
	{"failed", func(r *ledger.Row) *int64 { return &r.Failed }, nil},
	{"canceled", func(r *ledger.Row) *int64 { return &r.Canceled }, nil},
	{"lost", func(r *ledger.Row) *int64 { return &r.Lost }, nil},
	{"work_s", nil, func(r *ledger.Row) *time.Duration { return &r.Work }},
	{"wasted_work_s", nil, func(r *ledger.Row) *time.Duration { return &r.Wasted }},
	{"sent", func(r *ledger.Row) *int64 { return &r.Sent }, nil},
	{"resumed", func(r *ledger.Row) *int64 { return &r.Resumed }, nil},
	{"missed", func(r *ledger.Row) *int64 { return &r.Missed }, nil},
	{"timed_out", func(r *ledger.Row) *int64 { return &r.TimedOut }, nil},
	{"client_errors", func(r *ledger.Row) *int64 { return &r.ClientErrors }, nil},
	{"succeeded", func(r *ledger.Row) *int64 { return &r.Succeeded }, nil},
	{"gave_up", func(r *ledger.Row) *int64 { return &r.GaveUp }, nil},
	{"throttled", func(r *ledger.Row) *int64 { return &r.Throttled }, nil},
	{"first_ok", func(r *ledger.Row) *int64 { return &r.FirstOK }, nil},
}

func seriesHeader() []string {
	head := []string{"t_s"}
	for _, c := range columns {
		head = append(head, c.name)
	}
	return head
}

func seriesLine(r *ledger.Row) []string {
	line := []string{strconv.Itoa(r.T)}
	for _, c := range columns {
		if c.count != nil {
			line = append(line, strconv.FormatInt(*c.count(r), 10))
		} else {
			line = append(line, strconv.FormatFloat(c.span(r).Seconds(), 'f', -1, 64))
		}
	}
	return line
}

// WriteSeries writes the rows as CSV.
func WriteSeries(w io.Writer, rows ledger.Rows) error {
	c := csv.NewWriter(w)
	_ = c.Write(seriesHeader()) // its errors are kept for Error
	for i := range rows {
		_ = c.Write(seriesLine(&rows[i]))
	}
	c.Flush()
	return c.Error()
}

// ReadSeries reads what WriteSeries has written. Columns that it does not know are
// skipped, and those that are missing stay 0; without t_s it is not a series. A
// last line that was cut off by a crash is dropped.
func ReadSeries(r io.Reader) (ledger.Rows, error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord = -1
	head, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	at := slices.Index(head, "t_s")
	if at < 0 {
		return nil, fmt.Errorf("no column t_s among %q", head)
	}
	rows := ledger.Rows{}
	for {
		line, err := c.Read()
		if err == io.EOF || err == nil && len(line) < len(head) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		var row ledger.Row
		if row.T, err = strconv.Atoi(line[at]); err != nil {
			return nil, fmt.Errorf("row %d: t_s: %w", len(rows)+1, err)
		}
		for _, col := range columns {
			if i := slices.Index(head, col.name); i >= 0 {
				if err := col.read(&row, line[i]); err != nil {
					return nil, fmt.Errorf("row %d: %s: %w", len(rows)+1, col.name, err)
				}
			}
		}
		rows = append(rows, row)
	}
}

func (c column) read(r *ledger.Row, text string) (err error) {
	if c.count != nil {
		*c.count(r), err = strconv.ParseInt(text, 10, 64)
		return err
	}
	s, err := strconv.ParseFloat(text, 64)
	*c.span(r) = time.Duration(s*1e9 + 0.5)
	return err
}
