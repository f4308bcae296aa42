package remote

import "strings"

// use is what becomes of a keyword of ssh_config(5).
type use int

const (
	unknown  use = iota // an error, as with ssh, unless IgnoreUnknown names it
	honoured            // we do what it says
	beyond              // only OpenSSH's ssh does that, and logs in if it is set
	harmless            // it changes nothing about a login that runs one command without a terminal, or what it forbids we do not do
)

// keywords has every keyword of OpenSSH's client up to version 10, those that it
// takes for older ones and, as harmless, those that only Debian's, Red Hat's and
// Apple's know. In lower case.
var keywords = func() map[string]use {
	table := map[string]use{}
	for kind, names := range map[use]string{
		honoured: `host match include ignoreunknown
			addressfamily batchmode bindaddress canonicalizehostname casignaturealgorithms certificatefile
			challengeresponseauthentication ciphers connecttimeout controlmaster controlpath globalknownhostsfile
			gssapiauthentication hashknownhosts hostbasedauthentication hostkeyalgorithms hostkeyalias hostname
			identitiesonly identityagent identityfile kbdinteractiveauthentication kexalgorithms macs
			numberofpasswordprompts passwordauthentication port preferredauthentications proxycommand proxyjump
			proxyusefdpass pubkeyacceptedalgorithms pubkeyacceptedkeytypes pubkeyauthentication refuseconnection
			requiredrsasize serveralivecountmax serveraliveinterval skeyauthentication stricthostkeychecking user
			userknownhostsfile`,

		// permitlocalcommand: what a LocalCommand does may be needed to get through.
		// setenv: the agent's own environment becomes that of ranks.
		beyond: `bindinterface knownhostscommand permitlocalcommand pkcs11provider revokedhostkeys setenv`,

		// Other things than the login of one command: forwarding, terminals,
		// sessions and connections that are kept or shared.
		// remotecommand, sendenv: ours is another command, and ranks have the
		// launcher's environment as --export says.
		// checkhostip, nohostauthenticationforlocalhost, updatehostkeys,
		// verifyhostkeydns: they accept or store more keys than we do.
		// compression, connectionattempts, rekeylimit: ours to decide, which
		// changes no byte.
		// securitykeyprovider: keys in hardware are ssh's in any case.
		// canonical…: only canonicalizehostname makes them count.
		harmless: `addkeystoagent canonicaldomains canonicalizefallbacklocal canonicalizemaxdots
			canonicalizepermittedcnames channeltimeout checkhostip clearallforwardings compression compressionlevel
			connectionattempts controlpersist dynamicforward enableescapecommandline enablesshkeysign escapechar
			exitonforwardfailure fingerprinthash forkafterauthentication forwardagent forwardx11 forwardx11timeout
			forwardx11trusted gatewayports gssapidelegatecredentials hostbasedacceptedalgorithms
			hostbasedacceptedkeytypes hostbasedkeytypes ipqos kbdinteractivedevices keepalive localcommand localforward
			loglevel logverbose nohostauthenticationforlocalhost obscurekeystroketiming permitremoteopen rekeylimit
			remotecommand remoteforward requesttty securitykeyprovider sendenv sessiontype smartcarddevice stdinnull
			streamlocalbindmask streamlocalbindunlink syslogfacility tag tcpkeepalive tunnel tunneldevice
			updatehostkeys verifyhostkeydns versionaddendum visualhostkey warnweakcrypto xauthlocation
			afstokenpassing cipher dsaauthentication fallbacktorsh globalknownhostsfile2 identityfile2
			kerberosauthentication kerberostgtpassing protocol rhostsauthentication rhostsrsaauthentication
			rsaauthentication tisauthentication useprivilegedport useroaming usersh userknownhostsfile2
			gssapiclientidentity gssapikexalgorithms gssapikeyexchange gssapirenewalforcesrekey gssapiserveridentity
			gssapitrustdns rsaminsize usekeychain`,
	} {
		for _, name := range strings.Fields(names) {
			table[name] = kind
		}
	}
	return table
}()

// acted says whether a keyword has a say in how we log in.
func acted(keyword string) bool { return keywords[keyword] == honoured || keywords[keyword] == beyond }
