// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice One agent, the plainest way: every figure is written down in the second in which it changes.
/// @param expiresAt end of the window that is charged last, Unix seconds
/// @param startsAt its begin, Unix seconds
/// @param firstEnd end of the first window since it opened, Unix seconds
/// @param periods paid for and not charged
/// @param waitingTinybar money that is in no period, tinybar
struct NaiveAgent {
    bool exists;
    bool isCancelled;
    uint256 startsAt;
    uint256 expiresAt;
    uint256 firstEnd;
    uint256 offerId;
    uint256 periodSeconds;
    uint256 priceTinybar;
    uint256 quota;
    uint256 periods;
    uint256 waitingTinybar;
    uint256 refundTinybar;
}

/// @notice The offer of a purchase.
struct NaiveOffer {
    uint256 id;
    uint256 priceTinybar;
    uint256 periodSeconds;
    uint256 quota;
    uint256 slotSeconds;
    bool isRetired;
}

/// @title A second model of the books
/// @notice Renews agent by agent, second by second: no slots, no calendar, no projection. Shares no code with the contract.
contract NaiveBooks {
    uint256 public depositsTinybar;
    uint256 public earnedTinybar;
    uint256 public refundsTinybar;
    mapping(uint256 who => NaiveAgent) internal _agents;
    mapping(uint256 who => mapping(uint256 windowEnd => uint256)) public used;
    uint256 public immutable COUNT;
    uint256 public immutable ALIGNMENT;

    constructor(uint256 agents, uint256 alignment) {
        COUNT = agents;
        ALIGNMENT = alignment;
    }

    function agentOf(uint256 who) external view returns (NaiveAgent memory) {
        return _agents[who];
    }

    function balanceOf(uint256 who) public view returns (uint256) {
        return _agents[who].periods * _agents[who].priceTinybar + _agents[who].waitingTinybar;
    }

    function isOpen(uint256 who) public view returns (bool) {
        NaiveAgent storage agent = _agents[who];
        return agent.exists && agent.expiresAt + agent.periods * agent.periodSeconds > block.timestamp;
    }

    /// @dev One second passes: whoever's window ends in it, and has paid for another, gets that.
    function tick(uint256 second) external {
        for (uint256 who; who < COUNT; ++who) {
            if (second == _agents[who].expiresAt) _renew(_agents[who]);
        }
    }

    /// @param hasPinnedRetired whether the offer of the agent's window is retired, whose money then waits
    /// @param isByAgent whether the agent itself buys
    function buy(uint256 who, uint256 value, NaiveOffer memory offer, bool hasPinnedRetired, bool isByAgent) public {
        NaiveAgent storage agent = _agents[who];
        depositsTinybar += value;
        if (isOpen(who)) {
            agent.waitingTinybar += value;
            agent.isCancelled = false;
            if (!hasPinnedRetired) _fund(agent, value / offer.priceTinybar);
            return;
        }
        if (!isByAgent && _isWorse(agent, offer)) _refund(agent, agent.waitingTinybar);
        agent.waitingTinybar += value;
        agent.isCancelled = false;
        _openWindow(agent, offer);
        _fund(agent, value / offer.priceTinybar);
    }

    function topUp(uint256 who, uint256 value) external {
        depositsTinybar += value;
        _agents[who].waitingTinybar += value;
        _fund(_agents[who], 1);
    }

    /// @param isSold whether a window may open on the current offer, or an open one go on at its terms
    function poke(uint256 who, NaiveOffer memory offer, bool isSold, bool isByAgent) external {
        NaiveAgent storage agent = _agents[who];
        if (!isSold || agent.waitingTinybar < offer.priceTinybar) return;
        bool isSame = agent.priceTinybar == offer.priceTinybar && agent.periodSeconds == offer.periodSeconds
            && agent.quota == offer.quota;
        if (isOpen(who) ? isSame : isByAgent || !_isWorse(agent, offer)) buy(who, 0, offer, false, isByAgent);
    }

    function cancel(uint256 who) external {
        NaiveAgent storage agent = _agents[who];
        agent.isCancelled = true;
        _refund(agent, balanceOf(who));
        agent.periods = 0;
    }

    function claim(uint256 who) external {
        refundsTinybar -= _agents[who].refundTinybar;
        _agents[who].refundTinybar = 0;
    }

    /// @dev Counts calls in the window that is open now, or in the next one, which begins within 10 s and is charged with that.
    function count(uint256 who, int256 calls, bool isNext) external returns (bool isCounted) {
        NaiveAgent storage agent = _agents[who];
        uint256 end = openEnd(who) + (isNext ? agent.periodSeconds : 0);
        if (isNext && end > agent.expiresAt) {
            if (agent.periods == 0) return false;
            if (agent.expiresAt > block.timestamp + 10) return false;
        }
        int256 sum = int256(used[who][end]) + calls;
        if (sum < 0) sum = 0;
        if (sum > int256(agent.quota)) return false;
        if (end > agent.expiresAt) _renew(agent);
        used[who][end] = uint256(sum);
        return true;
    }

    /// @dev End of the window that is open now: of the one before the last that is charged, if that has not begun.
    function openEnd(uint256 who) public view returns (uint256) {
        NaiveAgent storage agent = _agents[who];
        return block.timestamp < agent.startsAt ? agent.startsAt : agent.expiresAt;
    }

    function _openWindow(NaiveAgent storage agent, NaiveOffer memory offer) private {
        agent.offerId = offer.id;
        (agent.priceTinybar, agent.periodSeconds, agent.quota) = (offer.priceTinybar, offer.periodSeconds, offer.quota);
        agent.exists = true;
        agent.startsAt = block.timestamp;
        agent.expiresAt = block.timestamp + offer.periodSeconds;
        while ((agent.expiresAt + ALIGNMENT) % offer.slotSeconds != 0) ++agent.expiresAt;
        agent.firstEnd = agent.expiresAt;
        agent.waitingTinybar -= offer.priceTinybar;
        _charge(agent);
    }

    /// @dev Money buys periods that end within 31 days, and always as many as were bought, one at least, from the end of
    /// what is charged.
    function _fund(NaiveAgent storage agent, uint256 bought) private {
        uint256 most = bought == 0 ? 1 : bought;
        uint256 last = block.timestamp + 31 days;
        if (last > agent.expiresAt && (last - agent.expiresAt) / agent.periodSeconds > most) {
            most = (last - agent.expiresAt) / agent.periodSeconds;
        }
        if (agent.periods >= most) return;
        uint256 more = agent.waitingTinybar / agent.priceTinybar;
        if (more > most - agent.periods) more = most - agent.periods;
        agent.waitingTinybar -= more * agent.priceTinybar;
        agent.periods += more;
    }

    function _isWorse(NaiveAgent storage agent, NaiveOffer memory offer) private view returns (bool) {
        return offer.priceTinybar > agent.priceTinybar || offer.periodSeconds < agent.periodSeconds
            || offer.quota < agent.quota;
    }

    function _refund(NaiveAgent storage agent, uint256 amount) private {
        agent.waitingTinybar = 0;
        agent.refundTinybar += amount;
        depositsTinybar -= amount;
        refundsTinybar += amount;
    }

    function _renew(NaiveAgent storage agent) private {
        if (agent.periods == 0) return;
        --agent.periods;
        agent.startsAt = agent.expiresAt;
        agent.expiresAt += agent.periodSeconds;
        _charge(agent);
    }

    function _charge(NaiveAgent storage agent) private {
        depositsTinybar -= agent.priceTinybar;
        earnedTinybar += agent.priceTinybar;
    }
}
