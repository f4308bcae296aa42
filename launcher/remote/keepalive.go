package remote

import "time"

// keepAlive asks the server for a sign of life whenever interval is over, and
// ends the connection when count of them in a row have stayed without: what
// ServerAliveInterval and ServerAliveCountMax ask for. Requests that a server
// does not know are answered too.
func (c *Conn) keepAlive(interval time.Duration, count int) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	answers := make(chan struct{})
	missing := 0 // requests without an answer
	for {
		select {
		case <-c.ended:
			return
		case <-answers:
			missing = 0
		case <-ticker.C:
			if missing == count {
				c.log.Warn("the server does not answer any more", "host", c.host, "requests", missing, "interval", interval)
				c.raw.Close()
				return
			}
			if missing++; missing > 1 {
				continue // one is under way, which is as good as another
			}
			c.running.Go(func() {
				c.client.SendRequest("keepalive@openssh.com", true, nil)
				select {
				case answers <- struct{}{}:
				case <-c.ended:
				}
			})
		}
	}
}
