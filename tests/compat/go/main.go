// Command compat puts the Go clients behind a pipe: a JSON request per line on stdin, a JSON answer
// per line on stdout. The requests are those of tests/compat/clients/driver.py. Clients keep their
// default settings unless a request names one.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

const patience = 120 * time.Second

type record struct {
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	Timestamp int64    `json:"timestamp"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []header `json:"headers"`
}

// header is the pair [name, value]; a null value stays null.
type header struct {
	Name  string
	Value []byte
}

func (h header) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{h.Name, h.Value})
}

func (h *header) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.Name, &h.Value})
}

type request struct {
	Op         string            `json:"op"`
	Topic      string            `json:"topic"`
	Partitions int32             `json:"partitions"`
	Partition  int32             `json:"partition"`
	Timestamp  int64             `json:"timestamp"`
	Count      int               `json:"count"`
	Codec      string            `json:"codec"`
	Acks       string            `json:"acks"`
	Starts     map[int32]int64   `json:"starts"`
	Group      string            `json:"group"`
	Configs    map[string]string `json:"configs"`
	Records    []record          `json:"records"`
}

type answer struct {
	Error   int               `json:"error,omitempty"`
	Message string            `json:"message,omitempty"`
	Topics  []string          `json:"topics,omitempty"`
	Configs map[string]string `json:"configs,omitempty"`
	Offsets []int64           `json:"offsets,omitempty"`
	Offset  *int64            `json:"offset,omitempty"`
	Records []record          `json:"records,omitempty"`
}

// client is what both libraries are asked to do.
type client interface {
	handle(request, *answer) error
	// code is the Kafka error code of an error, -1 if it has none.
	code(error) int
}

func main() {
	if os.Args[1] == "member" {
		if err := runMember(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Args[1] == "transactor" {
		if err := runTransactor(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	library, bootstrap := os.Args[1], os.Args[2]
	var chosen client
	var err error
	if library == "sarama" {
		chosen, err = newSarama(bootstrap)
	} else {
		chosen, err = newFranz(bootstrap)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	requests := json.NewDecoder(bufio.NewReader(os.Stdin))
	answers := json.NewEncoder(os.Stdout)
	for {
		var req request
		if err := requests.Decode(&req); err == io.EOF {
			return
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		var ans answer
		if err := chosen.handle(req, &ans); err != nil {
			ans.Error, ans.Message = chosen.code(err), err.Error()
		}
		if err := answers.Encode(ans); err != nil {
			os.Exit(1)
		}
	}
}
