package kubernetes

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

// notPublic are addresses that no pod may reach by an address block: of clusters, hosts and metadata services.
func notPublic() []string {
	return []string{
		"0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.31.255.255", "192.0.0.192", "192.168.0.1", "198.18.0.1",
		"224.0.0.1", "255.255.255.255", "::1", "64:ff9b::a00:1", "2002:a00:1::", "fc00::1", "fd00:ec2::254", "fe80::1", "ff02::1",
	}
}

// checkInternet checks that webhooks alone reaches public addresses, and that nobody reaches others by an address
// block.
func (o *objects) checkInternet() (f faults) {
	for _, policy := range o.policies {
		blocks := egressBlocks(policy)
		if len(blocks) == 0 {
			continue
		}
		pods, err := o.selected(&policy.Spec.PodSelector)
		if err != nil || len(pods) != 1 || pods[0].name != "webhooks" {
			f.add("policy %s: it opens address blocks to %v, %v, want webhooks alone", policy.Name, pods, err)
		}
		for _, address := range []string{"1.1.1.1", "2606:4700::1111"} {
			if !reachable(blocks, address) {
				f.add("policy %s: %s is not reachable", policy.Name, address)
			}
		}
		for _, address := range notPublic() {
			if reachable(blocks, address) {
				f.add("policy %s: %s is reachable", policy.Name, address)
			}
		}
	}
	return f
}

func egressBlocks(policy *networkingv1.NetworkPolicy) (blocks []*networkingv1.IPBlock) {
	for _, rule := range policy.Spec.Egress {
		for _, peer := range rule.To {
			if peer.IPBlock != nil {
				blocks = append(blocks, peer.IPBlock)
			}
		}
	}
	return blocks
}

// reachable reports whether a block contains an address.
func reachable(blocks []*networkingv1.IPBlock, address string) bool {
	a := netip.MustParseAddr(address)
	contains := func(text string) bool {
		prefix, err := netip.ParsePrefix(text)
		return err == nil && prefix.Contains(a)
	}
	return slices.ContainsFunc(blocks, func(b *networkingv1.IPBlock) bool {
		return contains(b.CIDR) && !slices.ContainsFunc(b.Except, contains)
	})
}
